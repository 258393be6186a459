"""The second checker says what the first says, of stored results and of forged ones, and needs nothing but Python."""

import ast
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tampering import stored_results, tamper, weighted_results

import labelproof as lp
from labelproof.errors import CertificateError, DataFormatError
from labelproof.proof import standalone

TRIANGLE = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])


def first_says(path, weight, bias):
    """What load_verification and check find wrong, or None."""
    try:
        lp.load_verification(path, weight, bias=bias).check(n_jobs=1)
    except (CertificateError, DataFormatError, ValueError) as error:
        return str(error)
    return None


def second_says(path, weights, *others):
    """What the standalone checker finds wrong, or None."""
    try:
        standalone.prove(*standalone.read(str(path), str(weights), *map(str, others)))
    except (standalone.InputError, standalone.ProofError) as error:
        return str(error)
    return None


@pytest.fixture
def files(tmp_path):
    return tmp_path / "result.npz", tmp_path / "weights.npz"


def test_both_checkers_agree_on_a_thousand_verdicts(tmp_path, files):
    seen = dict.fromkeys([1, 0, -1], 0)
    fractions = radii = 0
    for v, stored in stored_results(np.random.default_rng(0), tmp_path, n_sets=15):
        stored.write(files[0])
        stored.write_weights(files[1])
        assert first_says(files[0], stored.weight, stored.bias) is None
        assert second_says(*files) is None
        for status in v.status.tolist():
            seen[status] += 1
        fractions += len(v.fractions)
        radii += v.radii is not None
    assert sum(seen.values()) > 1000
    assert min(seen.values()) > 30
    assert radii > 20
    assert fractions > 0


# What the standalone checker asks beyond the first: exact types of arrays that the first takes in any type, and no
# thresholds with a rule that has none.
STRICTER = ("thresholds with the rule sigmoid only", "expected offset", "numbers or text")


def is_off_by_rounding(message):
    """Whether a radius is refused only because double precision cannot tell what rational numbers prove."""
    found = re.fullmatch(r"the radius .* of at (?:most|least) (\S+) from .*, got (\S+)", message)
    return found is not None and math.isclose(float(found[1]), float(found[2]), rel_tol=1e-9)


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("made", [stored_results, weighted_results])
def test_what_the_first_checker_rejects_the_second_rejects(tmp_path, files, made, count):
    rng = np.random.default_rng(1)
    results = [stored for _, stored in made(rng, tmp_path, n_sets=4)]
    rejected = accepted = 0
    kinds = {}
    while rejected < count:
        place = rng.integers(len(results))
        stored, weights = results[place], tmp_path / f"weights{place}.npz"
        if not weights.exists():
            stored.write_weights(weights)
        kind = tamper(rng, stored, files[0])
        first, second = first_says(files[0], stored.weight, stored.bias), second_says(files[0], weights)
        if first is not None:
            assert second is not None or is_off_by_rounding(first), (kind, first)
            rejected += 1
            kinds[kind] = kinds.get(kind, 0) + 1
        else:
            assert second is None or any(text in second for text in STRICTER), (kind, second)
            accepted += 1
    assert min(kinds.values()) > count // 200
    assert accepted > count // 20
    assert ("multipliers_changed" in kinds) == (made is weighted_results)


# Known forgeries


def says_of(files, weight, sets, **changes):
    """What both checkers find wrong with a result of these sets after changes of arrays or of the header."""
    weight, bias = np.asarray(weight), changes.pop("bias", None)
    v = lp.verify(weight, sets, bias=bias, **changes.pop("options", {}))
    v.save(files[0])
    with np.load(files[0]) as archive:
        content = dict(archive)
    header = json.loads(content["header"].tobytes()) | changes.pop("header", {})
    content |= {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)} | changes
    np.savez(files[0], **content)
    np.savez(files[1], weight=weight, **({} if bias is None else {"bias": bias}))
    return first_says(files[0], weight, bias), second_says(*files)


def conflict(rows):
    return {
        "status": np.zeros(1, np.int8),
        "conflict_ptr": np.array([0, len(rows)]),
        "conflict_rows": np.array(rows, np.int64),
    }


def witness(*ratios):
    header = {"fractions": {"0": list(ratios)}, "reasons": {}}
    return {"status": np.ones(1, np.int8), "point_of": np.full(1, -1), "header": header}


def test_a_witness_of_thirds_that_rounding_would_accept_is_rejected(files):
    # −3·(1/3) + 3.5·(1/4) = −1/8; and with 4·(1/4) the logit is 0, which is not positive
    for last in (3.5, 4.0):
        first, second = says_of(files, [[-3.0, last]], [[0]], **witness("0x1/0x3", "0x1/0x4"))
        assert "label 0: expected a positive logit" in first
        assert second == "label set 0 is not proven: label 0 is not active at its witness"


@pytest.mark.parametrize(
    "last", [[-1 + 2.0**-53, -1, -2], [-1 - 2.0**-52, -1, -2], [-1, -1, -2 + 2.0**-52], [-1, -1, -2 - 2.0**-51]]
)
def test_a_dependence_that_is_off_by_one_unit_is_rejected(files, last):
    first, second = says_of(files, [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], last], [[0, 1, 2]], **conflict([0, 1, 2]))
    assert first is not None
    assert "dependence" in second


def test_a_dependence_that_is_off_by_less_than_the_floats_can_add_is_rejected(files):
    weight = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, -1.0, 2.0**-1060]])
    first, second = says_of(files, weight, [[0, 1, 2]], **conflict([0, 1, 2]))
    assert first is not None
    assert "dependence" in second


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([2, 1, 0], "ascending"),
        ([0, 0, 1, 2], "ascending"),
        ([], "ascending"),
        ([0, 1], "dependence"),
        ([0, 1, 3], "dependence"),
        ([0, 1, 2, 4], "names a row that the system does not have"),
        ([0, 1, 2, 7], "names a row that the system does not have"),
    ],
)
def test_conflicts_that_are_none_are_rejected(files, rows, message):
    weight = np.concatenate([TRIANGLE, [[1.0, 1.0]]])  # the last two rows are a conflict as well
    first, second = says_of(files, weight, [[0, 1, 2, 3]], **conflict(rows))
    assert first is not None
    assert message in second


def test_two_dependences_at_once_are_rejected_unless_there_are_more_rows_than_columns_and_one(files):
    weight = [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]
    several = ([0, 1], True), ([2, 3], True), ([0, 1, 2, 3], False), ([0, 1, 2, 3, 4], False)
    for rows, is_conflict in several:
        first, second = says_of(files, weight, [[0, 1, 2, 3, 4]], **conflict(rows))
        assert (first is None, second is None) == (is_conflict, is_conflict)
    narrow = [row[:2] for row in weight]
    for rows, is_conflict in (([0, 1, 2, 3], True), ([0, 1, 2, 4], False)):
        first, second = says_of(files, [*narrow[:4], [0.0, 1.0]], [[0, 1, 2, 3, 4]], **conflict(rows))
        assert (first is None, second is None) == (is_conflict, is_conflict)


def test_a_conflict_needs_a_strict_row(files):
    weight, options = [[1.0], [-1.0]], {"ties": "inactive"}
    first, second = says_of(files, weight, [[]], options=options, **conflict([0, 1]))
    assert "strict" in first
    assert second == "label set 0 is not proven: its conflict has no strict inequality"


def test_bounds_of_a_radius_must_come_from_their_evidence(files):
    weight, sets, options = TRIANGLE, [[0], [0, 1]], {"radius": True}
    lp.verify(weight, sets, **options).save(files[0])
    with np.load(files[0]) as archive:
        lower, upper = archive["radius_lower"], archive["radius_upper"]
    for changes in ({"radius_lower": lower * (1 + 1e-6)}, {"radius_lower": lower * 0}, {"radius_lower": lower - 1}):
        first, second = says_of(files, weight, sets, options=options, **changes)
        assert "radius of label set 0" in first
        assert "radius of label set 0 is not proven: its centre" in second
    for changes in ({"radius_upper": upper * (1 - 1e-6)}, {"radius_upper": upper * np.inf}):
        first, second = says_of(files, weight, sets, options=options, **changes)
        assert "radius of label set 0" in first
        assert "radius of label set 0 is not proven: its multipliers" in second
    assert says_of(files, weight, sets, options=options) == (None, None)


def test_thresholds_with_a_rule_that_has_none_are_refused(files):
    _, second = says_of(files, np.eye(2), [[0]], options={"thresholds": 0.7}, header={"rule": "topk"})
    assert "thresholds with the rule sigmoid only" in second


def test_numbers_near_the_ends_of_the_floats_are_proven(files):
    for power in (-1000, 1000):
        weight = np.ldexp(TRIANGLE, [[0], [power], [-power]])
        assert says_of(files, weight, [[0, 1, 2], [0]], options={"radius": True}) == (None, None)
    weight = np.array([[5e-324]])
    assert says_of(files, weight, [[0]], bias=np.array([-1.0]), options={"radius": True}) == (None, None)
    assert says_of(files, np.zeros((2, 2)), [[0]], bias=np.array([1.0, -1e300]), options={"radius": True}) == (
        None,
        None,
    )


# Files of weights


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f8", "<i8", "|i1", "|u1", ">i2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_weights_are_read_in_every_type_and_order(files, dtype, order):
    weight = np.array([[1, 0], [3, 1], [1, 2]])
    lp.verify(weight, [[0], [0, 1, 2]]).save(files[0])
    np.savez_compressed(files[1], some_name=np.asarray(weight.astype(dtype), order=order), names=np.array(["a", "b"]))
    assert second_says(*files) is None


@pytest.mark.parametrize(("weight_name", "bias_name"), [("weight", "bias"), ("W", "b"), ("coef_", "intercept_")])
def test_usual_names_of_weight_and_bias_are_known(files, weight_name, bias_name):
    bias = np.array([0.5, -1.0, 0.25])
    lp.verify(TRIANGLE, [[0], [0, 1, 2]], bias=bias).save(files[0])
    np.savez(files[1], **{weight_name: TRIANGLE, bias_name: bias, "other": np.eye(2)})
    assert second_says(*files) is None
    np.savez(files[1], **{weight_name: TRIANGLE, bias_name: np.nextafter(bias, 9.0)})
    assert "the bias that was verified, got another" in second_says(*files)
    np.savez(files[1], **{weight_name: TRIANGLE})
    assert "expected the bias, as was verified" in second_says(*files)


def test_a_bias_of_its_own_file_is_taken(files, tmp_path):
    bias = np.array([0.5, -1.0, 0.25])
    lp.verify(TRIANGLE, [[0], [0, 1, 2]], bias=bias).save(files[0])
    np.save(tmp_path / "w.npy", TRIANGLE)
    np.save(tmp_path / "b.npy", bias)
    assert second_says(files[0], tmp_path / "w.npy", tmp_path / "b.npy") is None


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"weight": np.nextafter(TRIANGLE, 9.0)}, "the weights that were verified, got others"),
        ({"weight": TRIANGLE[:2]}, "weights of another shape"),
        ({"weight": TRIANGLE, "bias": np.zeros(3)}, "no bias, as was verified"),
        ({"weight": np.full((3, 2), np.nan)}, "finite numbers"),
        ({"weight": np.full((3, 2), 2**53 + 1)}, "integers ≤ 2"),
        ({"a": TRIANGLE, "b_": TRIANGLE}, "one matrix"),
        ({"weight": TRIANGLE.astype(object)}, "expected numbers or text"),
    ],
)
def test_other_weights_are_refused(files, arrays, message):
    lp.verify(TRIANGLE, [[0], [0, 1, 2]]).save(files[0])
    np.savez(files[1], **arrays)
    assert message in second_says(*files)


def test_a_file_that_would_fill_the_memory_is_refused(files, monkeypatch):
    lp.verify(TRIANGLE, [[0]]).save(files[0])
    np.savez(files[1], weight=TRIANGLE)
    monkeypatch.setattr(standalone, "MOST_BYTES", 1000)
    assert "expected at most 1000 bytes of arrays" in second_says(*files)


def test_an_array_shorter_than_its_archive_declares_is_refused(files):
    lp.verify(TRIANGLE, [[0]]).save(files[0])
    np.savez(files[1], weight=TRIANGLE)
    content = bytearray(files[1].read_bytes())
    content[content.rindex(b"PK\x01\x02") + 27] ^= 1  # the highest byte of the size in the archive's directory
    files[1].write_bytes(content)
    assert "arrays of declared sizes" in second_says(*files)


# The file by itself


def test_it_imports_the_standard_library_only():
    tree = ast.parse(Path(standalone.__file__).read_text(encoding="utf-8"))
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module.split(".")[0] for module in modules} <= sys.stdlib_module_names


def run(folder, *arguments):
    """Run a copy of the file in a folder of its own, by a Python without site-packages."""
    shutil.copy(standalone.__file__, folder / "standalone.py")
    command = [sys.executable, "-I", "-S", "standalone.py", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)  # noqa: S603
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def test_a_copy_in_an_empty_folder_proves_a_result_without_numpy(tmp_path):
    weight = np.random.default_rng(3).normal(size=(40, 4)).astype(np.float32)
    x = np.array([1.0, -2.0, 0.5, 0.1])
    v = lp.verify(weight, [np.flatnonzero(weight @ x > 0).tolist(), [0], []], domain="nonnegative")
    v.save(tmp_path / "r.npz", label_names=[f"größe {i}" for i in range(40)])
    np.savez(tmp_path / "w.npz", weight=weight)
    code, told = run(tmp_path, "r.npz", "w.npz")
    assert code == 0
    assert f"{(v.status == 1).sum()} label sets argmaxable, {(v.status == 0).sum()} unargmaxable" in told
    assert "Rule sigmoid" in told
    assert "Ties open" in told
    assert "nonnegative features" in told


def test_exit_codes_tell_what_is_not_proven_from_bad_input(tmp_path):
    np.savez(tmp_path / "w.npz", weight=TRIANGLE)
    lp.verify(TRIANGLE, [[0], [0, 1, 2]], certify=False).save(tmp_path / "r.npz")
    assert run(tmp_path, "r.npz", "w.npz") == (
        1,
        "Not proven: no verdict is proven: the file was made without evidence (certify=False).\n",
    )
    says_of((tmp_path / "r.npz", tmp_path / "w.npz"), TRIANGLE, [[0]], **conflict([0, 1]))
    code, told = run(tmp_path, "r.npz", "w.npz")
    assert code == 1
    assert told.startswith("Not proven: label set 0 is not proven: ")
    (tmp_path / "r.npz").write_bytes((tmp_path / "r.npz").read_bytes()[:500])
    for arguments in (("r.npz", "w.npz"), ("w.npz", "w.npz"), ("absent.npz", "w.npz"), (".", "w.npz"), ("r.npz",)):
        code, told = run(tmp_path, *arguments)
        assert code == 2
        assert told.startswith(("Refused: ", "usage: "))
        assert len(told.splitlines()) == 1
