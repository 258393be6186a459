"""The two checkers of a stretch say the same of stored results, and of 2,000 that were tampered with."""

import json
import math
import re
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from stretch_oracle import made_case

import labelproof as lp
from labelproof.errors import CertificateError, DataFormatError
from labelproof.proof import standalone_stretch


@dataclass
class Stored:
    """A file of results as arrays, and what it was made for."""

    weight: np.ndarray
    bias: np.ndarray | None
    features: np.ndarray
    header: dict
    arrays: dict[str, np.ndarray]

    def copy(self):
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        return Stored(self.weight, self.bias, self.features, json.loads(json.dumps(self.header)), arrays)

    def write(self, path):
        np.savez(path, header=np.frombuffer(json.dumps(self.header).encode(), np.uint8), **self.arrays)


def stored_results(folder):
    """A file for every rule and treatment of ties, with and without bias, thresholds, a bar and features that tie."""
    for number in range(16):
        rule, ties = ("sigmoid", "topk")[number % 2], ("open", "inactive")[number // 2 % 2]
        weight, bias, features, sets = made_case(number, whole=number % 4 == 0)
        features = features[:9]
        if number % 5 == 0:
            features[:, -1] = 0.5  # which then proves infinite stretches
        options = {"rule": rule, "ties": ties, "bias": None if number % 7 == 3 else bias, "n_jobs": 1}
        if rule == "sigmoid" and number % 3 == 0:
            options["thresholds"] = 0.3
        if number >= 10:
            held_out = np.random.default_rng(number).normal(size=(12, weight.shape[1])) * 2
            options |= {"calibration": held_out, "alpha": 0.3, "k": 1}
        if rule == "sigmoid":
            options.pop("k", None)
        s = lp.stretch(weight, sets, features, **options)
        s.save(folder / "first.npz")
        with np.load(folder / "first.npz") as archive:
            arrays = dict(archive)
        header = json.loads(arrays.pop("header").tobytes())
        yield s, Stored(weight, options["bias"], features, header, arrays)


def first_says(path, stored):
    """What load_stretch and check find wrong, or None."""
    try:
        lp.load_stretch(path, stored.weight, stored.features, bias=stored.bias).check(exact=True, n_jobs=1)
    except (CertificateError, DataFormatError, ValueError) as error:
        return str(error)
    return None


def second_says(*paths):
    """What the standalone checker finds wrong, or None."""
    try:
        stored = standalone_stretch.read(*map(str, paths))
        standalone_stretch.prove(stored.problem, stored.claims)
        standalone_stretch.prove(stored.problem, stored.predicted, "prediction")
        return stored.bar and standalone_stretch.bar_fault(stored.bar, stored.predicted)
    except (standalone_stretch.InputError, standalone_stretch.ProofError) as error:
        return str(error)


def is_sharper(message):
    """Whether the first checker refuses what is true: a bound a unit too low, or a conflict beside good labels."""
    found = re.search(r"expected an upper bound of at least (\S+), got (\S+)$", message)
    if found is not None:
        return math.isclose(float(found[1]), float(found[2]), rel_tol=1e-15)
    return "expected rows with one linear dependence" in message or "expected a conflict" in message


# Changes


def number_moved(rng, s):
    names = [name for name, array in s.arrays.items() if array.dtype.kind == "f" and array.size]
    array = s.arrays[names[rng.integers(len(names))]]
    i = rng.integers(len(array))
    x = array[i]
    changes = (-x, 2 * x + 1, x * (1 + 1e-6), x * (1 - 1e-6), x / 2, 0.0, np.nan, np.inf, -np.inf, 1e308)
    array[i] = rng.choice([*changes, np.nextafter(x, 9e99), np.nextafter(x, -9e99), x + 1, x * (1 - 1e-3)])


def bound_moved(rng, s):
    prefix = rng.choice(["", "bar_"] if "bar_lower" in s.arrays else [""])
    array = s.arrays[prefix + rng.choice(["lower", "upper"])]
    array[rng.integers(len(array))] *= rng.choice([0.5, 0.999, 1 - 1e-9, 1 + 1e-9, 1.001, 2.0])


def integer_moved(rng, s):
    names = [name for name, array in s.arrays.items() if array.dtype.kind == "i" and array.size]
    array = s.arrays[names[rng.integers(len(names))]]
    i = rng.integers(len(array))
    array[i] = rng.choice([array[i] - 1, array[i] + 1, 0, rng.integers(20), -1, 2**62, -(2**62)])


def entries_swapped(rng, s):
    names = [name for name, array in s.arrays.items() if len(array) > 1]
    array = s.arrays[names[rng.integers(len(names))]]
    i, j = rng.choice(len(array), 2, replace=False)
    array[[i, j]] = array[[j, i]]


def conflict_given(rng, s):
    """Call a set infinite by a list of rows."""
    i, n = rng.integers(len(s.arrays["lower"])), s.header["n_labels"]
    rows = np.sort(rng.choice(n + 3 + 2 * s.header["d"], rng.integers(1, 4), replace=False))
    ends, old = s.arrays["conflict_ptr"], s.arrays["conflict_rows"]
    s.arrays["conflict_rows"] = np.concatenate([old[: ends[i]], rows, old[ends[i + 1] :]]).astype(np.int64)
    ends[i + 1 :] += len(rows) - (ends[i + 1] - ends[i])
    s.arrays["lower"][i] = np.inf


def header_changed(rng, s):
    choices = {
        "rule": ["sigmoid", "topk", "sparsemax", None],
        "ties": ["open", "inactive", "closed"],
        "version": [2, "1"],
        "format": ["labelproof verification", None],
        "n_labels": [s.header["n_labels"] + 1, "3", None],
        "d": [s.header["d"] + 1, 0, None],
        "n_examples": [s.header["n_examples"] - 1, None],
        "weight_sha256": ["0" * 64, None],
        "features_sha256": ["0" * 64, None],
        "bar": [{}, 3, "no", {"value": 1.0}],
    }
    name = str(rng.choice(list(choices)))
    s.header[name] = choices[name][rng.integers(len(choices[name]))]
    if rng.random() < 0.1:
        del s.header[name]


def bar_changed(rng, s):
    if s.header["bar"] is None:
        s.header["bar"] = {"value": 1.0, "alpha": 0.3, "n": 3, "rank": 0, "sha256": "", "k": None}
        return
    bar = s.header["bar"]
    name = str(rng.choice(["value", "alpha", "n", "rank"]))
    bar[name] = {
        "value": [bar["value"] * (1 + 1e-9), 0.0, math.inf, math.nan, "1"],
        "alpha": [0.1, 0.2999, 0.31, 0.0, 1.0, "0.3", math.nan],
        "n": [bar["n"] + 1, bar["n"] - 1, 12.0, -1, None],
        "rank": [bar["rank"] + 1, bar["rank"] - 1, 0, -1, 1.5],
    }[name][rng.integers(4)]


def array_reshaped(rng, s):
    name = str(rng.choice(list(s.arrays)))
    array = s.arrays[name]
    dtypes = (np.float32, np.int32, np.float64, np.int64, np.uint8, ">f8", ">i8", np.complex128)
    changes = [
        lambda: array[:-1],
        lambda: np.concatenate([array, array[-1:]]),
        lambda: array[..., None],
        lambda: array.astype(dtypes[rng.integers(len(dtypes))]),
        lambda: np.array([str(n) for n in array.ravel()]),
        lambda: array[::-1].copy(),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s.arrays[name] = changes[rng.integers(len(changes))]()


def array_removed(rng, s):
    del s.arrays[str(rng.choice(list(s.arrays)))]


def array_added(rng, s):
    name = str(rng.choice(["offset", "offset_error", "theta", "other"]))
    s.arrays[name] = rng.normal(size=s.header["n_labels"])


CHANGES = [number_moved, number_moved, bound_moved, bound_moved, integer_moved, entries_swapped, conflict_given]
CHANGES += [header_changed, bar_changed, array_reshaped, array_removed, array_added]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Every result with the folder of its weights and features."""
    found = []
    for number, (s, stored) in enumerate(stored_results(tmp_path_factory.getbasetemp())):
        folder = tmp_path_factory.mktemp(f"stretch{number}")
        np.savez(folder / "w.npz", weight=stored.weight, **({} if stored.bias is None else {"bias": stored.bias}))
        np.save(folder / "f.npy", stored.features)
        found.append((s, stored, (folder / "w.npz", folder / "f.npy")))
    return found


def test_both_checkers_prove_every_result(results, tmp_path):
    infinite = bars = 0
    for s, stored, others in results:
        stored.write(tmp_path / "s.npz")
        assert first_says(tmp_path / "s.npz", stored) is None
        assert second_says(tmp_path / "s.npz", *others) is None
        infinite += int(np.isinf(s.lower).sum())
        bars += s.bar is not None
    assert infinite > 5
    assert bars > 4


@pytest.mark.parametrize("count", [150, pytest.param(2000, marks=pytest.mark.slow)])
def test_what_the_first_checker_rejects_the_second_rejects(results, tmp_path, count):
    rng = np.random.default_rng(0)
    path = tmp_path / "s.npz"
    rejected, accepted, kinds = 0, 0, dict.fromkeys((change.__name__ for change in CHANGES), 0)
    while rejected < count:
        _, stored, others = results[rng.integers(len(results))]
        copy, change = stored.copy(), CHANGES[rng.integers(len(CHANGES))]
        change(rng, copy)
        copy.write(path)
        first, second = first_says(path, stored), second_says(path, *others)
        if first is None:
            assert second is None, (change.__name__, second)
            accepted += 1
        else:
            assert second is not None or is_sharper(first), (change.__name__, first)
            rejected += 1
            kinds[change.__name__] += 1
    assert min(kinds.values()) > count // 200
    assert accepted > count // 20
