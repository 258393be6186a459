"""The paper's Chebyshev linear programme, solved on the whole matrix by other people's solvers.

    max ε   s.t.   −y_i (w_i·x + b_i) + ε‖w_i‖ ≤ 0 for every label i,   |x_j| ≤ box,   ε ≥ eps

These are the peers that our own times are compared with. A status of theirs is no verdict: it holds within a
tolerance, and "Optimal" with ε near `eps` is what an unargmaxable label set often gets.
"""

import time
from dataclasses import dataclass
from typing import Literal

import highspy
import numpy as np

try:
    import gurobipy
except ImportError:  # it is no dependency of ours: its free licence stops at 2000 rows
    gurobipy = None

__all__ = ["HAS_GUROBI", "Solution", "solve_by_gurobi", "solve_by_highs"]

HAS_GUROBI = gurobipy is not None


@dataclass(frozen=True)
class Solution:
    """What a solver answered, and the CPU seconds (of all threads of the process) that it took."""

    status: str  # in the solver's own words
    eps: float  # NaN where the solver gave no point that is feasible within its tolerance
    x: np.ndarray | None  # (d,)
    build_seconds: float
    solve_seconds: float


@dataclass(frozen=True)
class _Programme:
    """Maximise the last variable subject to matrix @ (x, ε) <= upper and the box."""

    matrix: np.ndarray  # (n_labels, d + 1)
    upper: np.ndarray  # (n_labels,)
    lowest: np.ndarray  # (d + 1,)
    highest: np.ndarray  # (d + 1,)


def solve_by_highs(
    weight: np.ndarray,
    active: np.ndarray,
    *,
    bias: np.ndarray | None = None,
    solver: Literal["simplex", "ipm"] = "simplex",
    box: float = 1e4,
    eps: float = 1e-8,
    tolerance: float | None = None,
    time_limit: float = 300.0,
) -> Solution:
    """Solve by HiGHS on one thread: its dual simplex, or an interior point method without crossover.

    `active` are the indices of the active labels; `tolerance` (None: HiGHS's own) is the primal and dual one.
    """
    # The same programme in units of the box: with a box of 1e4 the interior point method stops well below the
    # optimum, and says "Unknown" or "Unbounded".
    unit = box if solver == "ipm" else 1.0
    started = time.process_time()
    highs = highspy.Highs()
    options: dict[str, bool | int | float | str] = {
        "output_flag": False,
        "threads": 1,
        "parallel": "off",
        "solver": solver,
        "simplex_strategy": 1,  # dual, serial
        "run_crossover": "off",
        "time_limit": time_limit,  # wall-clock seconds
    }
    if tolerance is not None:
        options |= {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
    for option, value in options.items():
        if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"HiGHS refused the option {option}={value!r}")
    scaled_bias = None if bias is None else bias / unit
    model = _highs_model(_programme(weight, active, scaled_bias, box / unit, eps / unit))
    if highs.passModel(model) == highspy.HighsStatus.kError:
        raise ValueError(f"HiGHS refused the model for weight of shape {weight.shape}")
    built = time.process_time()
    highs.run()
    solved = time.process_time()

    feasible = highs.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    point = unit * np.array(highs.getSolution().col_value) if feasible else None
    return Solution(
        status=highs.modelStatusToString(highs.getModelStatus()),
        eps=float("nan") if point is None else float(point[-1]),
        x=None if point is None else point[:-1],
        build_seconds=built - started,
        solve_seconds=solved - built,
    )


def solve_by_gurobi(
    weight: np.ndarray,
    active: np.ndarray,
    *,
    bias: np.ndarray | None = None,
    method: int = -1,
    box: float = 1e4,
    eps: float = 1e-8,
    tolerance: float | None = None,
    time_limit: float = 300.0,
) -> Solution:
    """Solve by Gurobi on one thread; `method` is Gurobi's (-1 automatic, 1 dual simplex, 2 barrier).

    A licence that does not allow the model raises gurobipy.GurobiError, so it cannot pass for an answer.
    """
    if gurobipy is None:
        raise ModuleNotFoundError("solve_by_gurobi needs gurobipy, which is not installed")
    started = time.process_time()
    params: dict[str, float] = {"OutputFlag": 0, "Threads": 1, "Method": method, "TimeLimit": time_limit}
    if tolerance is not None:
        params |= {"FeasibilityTol": tolerance, "OptimalityTol": tolerance}
    with gurobipy.Env(params=params) as env, gurobipy.Model(env=env) as model:
        programme = _programme(weight, active, bias, box, eps)
        point = model.addMVar(weight.shape[1] + 1, lb=programme.lowest, ub=programme.highest)
        model.addConstr(programme.matrix @ point <= programme.upper)
        model.setObjective(point[-1], gurobipy.GRB.MAXIMIZE)
        model.update()
        built = time.process_time()
        model.optimize()
        solved = time.process_time()
        found = np.array(point.X) if model.SolCount else None
        return Solution(
            status=_gurobi_status(model.Status),
            eps=float("nan") if found is None else float(found[-1]),
            x=None if found is None else found[:-1],
            build_seconds=built - started,
            solve_seconds=solved - built,
        )


def _programme(
    weight: np.ndarray,
    active: np.ndarray,
    bias: np.ndarray | None,
    box: float,
    eps: float,
) -> _Programme:
    n_labels, d = weight.shape
    y = np.full(n_labels, -1.0)
    y[active] = 1.0
    matrix = np.empty((n_labels, d + 1))
    np.multiply(weight, -y[:, None], out=matrix[:, :d])
    matrix[:, d] = np.linalg.norm(matrix[:, :d], axis=1)
    return _Programme(
        matrix=matrix,
        upper=np.zeros(n_labels) if bias is None else y * bias,
        lowest=np.append(np.full(d, -box), eps),
        highest=np.append(np.full(d, box), np.inf),
    )


def _highs_model(programme: _Programme) -> highspy.HighsLp:
    n_rows, n_columns = programme.matrix.shape
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = n_rows, n_columns
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = np.eye(n_columns)[-1]
    model.col_lower_, model.col_upper_ = programme.lowest, programme.highest
    model.row_lower_, model.row_upper_ = np.full(n_rows, -np.inf), programme.upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.arange(n_rows + 1) * n_columns
    model.a_matrix_.index_ = np.tile(np.arange(n_columns), n_rows)
    model.a_matrix_.value_ = programme.matrix.ravel()
    return model


def _gurobi_status(code: int) -> str:
    statuses = gurobipy.GRB.Status
    return next(name for name in dir(statuses) if name.isupper() and getattr(statuses, name) == code)
