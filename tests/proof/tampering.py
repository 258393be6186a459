"""Stored results of small random layers, and changes of them that leave little as it was."""

import io
import json
import warnings
import zipfile
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np

import labelproof as lp

__all__ = ["Stored", "options", "stored_results", "tamper", "weighted_results"]

RULES = [
    ("sigmoid", ()),
    ("sigmoid", ("bias",)),
    ("sigmoid", ("thresholds",)),
    ("sigmoid", ("bias", "thresholds")),
    ("topk", ()),
    ("topk", ("bias",)),
    ("sparsemax", ()),
    ("sparsemax", ("bias",)),
    ("cooler sparsemax", ("bias",)),
]
BOX = (np.array([-1.0, 0.5, -np.inf]), np.array([1.0, 0.5, 2.0]))
DOMAINS = [None, "nonnegative", (-0.25, 0.5), BOX]
BALLS = ["unit", ("ball", 1.5), ("ball", 0.5, [1.0, -0.5, 0.25]), ("blocks", [(1, (-1.0, 0.5)), (2, "unit")])]


@dataclass
class Stored:
    """A file of results as arrays, and the classifier that it was made for."""

    weight: np.ndarray
    bias: np.ndarray | None
    arrays: dict[str, np.ndarray]
    header: dict
    status: np.ndarray

    def write(self, path):
        """Write the file without compression, which is quicker."""
        content = dict(self.arrays)
        if self.header is not None:
            content["header"] = np.frombuffer(json.dumps(self.header).encode(), np.uint8)
        np.savez(path, **content)

    def write_weights(self, path):
        np.savez(path, weight=self.weight, **({} if self.bias is None else {"bias": self.bias}))


def options(rng, rule, given, n_labels):
    numbers = {"bias": rng.integers(-2, 3, n_labels) / 2, "thresholds": rng.uniform(0.1, 0.9, n_labels)}
    chosen = {name: numbers[name] for name in given}
    if rule == "cooler sparsemax":
        rule = SimpleNamespace(geometry=SimpleNamespace(rule="sparsemax", temperature=0.3, size=None))
    return chosen | {"rule": rule}


def _weight(rng, n_labels, d):
    """Weights of several kinds, so that both verdicts, ties and conflicts of all sizes occur."""
    kind = rng.integers(4)
    weight = rng.normal(size=(n_labels, d)) * 10.0 ** rng.integers(-2, 3, size=(n_labels, 1))
    if kind == 1:
        weight = rng.integers(-2, 3, size=(n_labels, d)).astype(np.float64)
    if kind == 2:
        weight[1], weight[3] = weight[0], -2 * weight[2]
    return weight.astype(np.float32) if kind == 3 else weight


def stored_results(rng, folder, n_sets):
    """Yield a verified, saved and read file for every rule, treatment of ties and domain."""
    for rule, given in RULES:
        for ties in ("open", "inactive"):
            for domain in DOMAINS:
                n_labels = int(rng.integers(4, 8))
                weight, chosen = _weight(rng, n_labels, 3), options(rng, rule, given, n_labels)
                sets = rng.random((n_sets, n_labels)) < rng.uniform(0.2, 0.8)
                extra = {"radius": rule == "sigmoid", "box": float(rng.choice([1.0, 10.0, 1e4]))}
                extra |= {"time_limit": 0} if rng.random() < 0.1 else {}
                v = lp.verify(weight, sets, ties=ties, domain=domain, n_jobs=1, **chosen, **extra)
                yield v, _stored(v, weight, chosen.get("bias"), folder / "first.npz")


def weighted_results(rng, folder, n_sets):
    """Yield the same for domains with balls, on which conflicts bring their multipliers."""
    for rule, given in RULES:
        for domain in BALLS:
            n_labels = int(rng.integers(4, 8))
            weight, chosen = _weight(rng, n_labels, 3), options(rng, rule, given, n_labels)
            sets = rng.random((n_sets, n_labels)) < rng.uniform(0.2, 0.8)
            ties = ("open", "inactive")[int(rng.integers(2))]
            v = lp.verify(weight, sets, ties=ties, domain=domain, n_jobs=1, **chosen)
            yield v, _stored(v, weight, chosen.get("bias"), folder / "first.npz")


def _stored(v, weight, bias, path):
    v.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays.pop("header").tobytes())
    return Stored(weight, bias, arrays, header, v.status)


# Changes. Each returns the bytes of a file, or None where it does not apply.


def tamper(rng, stored, path):
    """Write a changed file; return the name of the change."""
    while True:
        change = CHANGES[rng.integers(len(CHANGES))]
        copy = Stored(stored.weight, stored.bias, dict(stored.arrays), dict(stored.header), stored.status)
        copy.arrays = {name: array.copy() for name, array in copy.arrays.items()}
        if change(rng, copy) is not None:
            copy.write(path)
            if change is bytes_changed:
                _damage(rng, path)
            return change.__name__


def _pick(rng, array):
    return None if array is None or not array.size else tuple(rng.integers(array.shape))


def status_flipped(rng, s):
    i = _pick(rng, s.arrays["status"])
    s.arrays["status"][i] = rng.choice([-1, 0, 1, 2])
    if rng.random() < 0.5 and len(s.arrays["points"]):
        s.arrays["point_of"][i] = rng.integers(len(s.arrays["points"]))
    return i


def number_moved(rng, s):
    """Change one entry of an array of floats: by a unit in the last place, or by much."""
    names = [name for name, array in s.arrays.items() if array.dtype.kind == "f" and array.size]
    if not names:
        return None
    array = s.arrays[names[rng.integers(len(names))]]
    i = _pick(rng, array)
    x = array[i]
    changes = (-x, 2 * x + 1, x * (1 + 1e-6), x * (1 - 1e-6), x / 2, 0.0, np.nan, np.inf, -np.inf)
    changes += (np.nextafter(x, 9e99), np.nextafter(x, -9e99), 1e300)
    array[i] = rng.choice(changes)
    return i


def integer_moved(rng, s):
    names = [name for name, array in s.arrays.items() if array.dtype.kind == "i" and array.size]
    array = s.arrays[names[rng.integers(len(names))]]
    i = _pick(rng, array)
    array[i] = rng.choice([array[i] - 1, array[i] + 1, 0, rng.integers(20), -1, 100])
    return i


def entries_swapped(rng, s):
    names = [name for name, array in s.arrays.items() if len(array) > 1]
    array = s.arrays[names[rng.integers(len(names))]]
    i, j = rng.choice(len(array), 2, replace=False)
    array[[i, j]] = array[[j, i]]
    return names


def conflict_changed(rng, s):
    """Take a row from a conflict, or add one, and move the ends accordingly."""
    no = np.flatnonzero(s.arrays["status"] == 0)
    if not len(no):
        return None
    i = rng.choice(no)
    ends, rows = s.arrays["conflict_ptr"], s.arrays["conflict_rows"]
    part = rows[ends[i] : ends[i + 1]].tolist()
    if rng.random() < 0.5 and part:
        part.pop(rng.integers(len(part)))
    else:
        part = sorted([*part, int(rng.integers(s.header["n_labels"] + 9))])
    s.arrays["conflict_rows"] = np.concatenate([rows[: ends[i]], part, rows[ends[i + 1] :]]).astype(np.int64)
    ends[i + 1 :] += len(part) - (ends[i + 1] - ends[i])
    return part


def evidence_exchanged(rng, s):
    """Give a set the conflict of another, or call it unargmaxable with that."""
    no = np.flatnonzero(s.arrays["status"] == 0)
    if not len(no):
        return None
    i, j = rng.integers(len(s.arrays["status"])), rng.choice(no)
    ends, rows = s.arrays["conflict_ptr"], s.arrays["conflict_rows"]
    parts = [rows[a:b] for a, b in pairwise(ends)]
    parts[i] = parts[j]
    s.arrays["status"][i] = 0
    s.arrays["conflict_rows"] = np.concatenate(parts)
    s.arrays["conflict_ptr"] = np.concatenate([[0], np.cumsum([len(p) for p in parts])]).astype(np.int64)
    return i


def header_changed(rng, s):
    choices = {
        "rule": ["sigmoid", "topk", "sparsemax", "softmax", 3, None],
        "ties": ["open", "inactive", "closed"],
        "temperature": [0.5, 2, 0, -1.0, "1", float("inf"), True],
        "certified": [False, "yes", 1],
        "version": [2, 1.0, "1"],
        "format": ["something else", None],
        "n_labels": [s.header["n_labels"] + 1, "9", float(s.header["n_labels"])],
        "d": [s.header["d"] - 1, 0, None],
        "weight_sha256": ["0" * 64, None],
        "eps": [1, -1.0, 0.5, float("nan")],
        "box": [None, 2.0, 1, 1e200, 0.0, "1"],
        "reasons": [{}, 3, [], {"0": "because"}],
        "label_names": [["a"], 3, [str(i) for i in range(s.header["n_labels"])]],
        "fractions": [
            {"0": ["0x1/0x0"] * 3},
            {"0": ["1/2"] * 3},
            {"0": ["0x1/0x2"]},
            {"0": ["0x1/0x2"] * 3},
            0,
            {"x": 1},
        ],
    }
    name = rng.choice(list(choices))
    values = choices[name]
    s.header[name] = values[rng.integers(len(values))]
    if rng.random() < 0.1:
        del s.header[name]
    return name


def fraction_given(rng, s):
    """Call a set argmaxable with a witness of fractions, right or wrong."""
    i = int(rng.integers(len(s.arrays["status"])))
    x = [f"{'-' if rng.random() < 0.5 else ''}{rng.integers(9):#x}/{rng.integers(1, 9):#x}" for _ in range(3)]
    if len(s.arrays["points"]) and s.arrays["point_of"][i] >= 0 and rng.random() < 0.5:
        ratios = [float(c).as_integer_ratio() for c in s.arrays["points"][s.arrays["point_of"][i]]]
        x = [f"{p:#x}/{q:#x}" for p, q in ratios]
    s.arrays["point_of"][i], s.arrays["status"][i] = -1, 1
    s.header["fractions"] = s.header["fractions"] | {str(i): x}
    return x


def multipliers_changed(rng, s):
    """Change a multiplier by little or much, its sign or its kind, or exchange, drop, add or invent some."""
    given = s.header.get("multipliers", {})
    if not given:
        return None
    i = str(rng.choice(list(given)))
    ratios = [Fraction(*(int(part, 16) for part in text.split("/"))) for text in given[i]]
    k = int(rng.integers(len(ratios)))
    factors = [0, -1, 2, Fraction(1, 3), 1 + Fraction(1, 2**60), 1 - Fraction(1, 2**60), Fraction(1, 2**1200), 2**1200]
    ratios[k] *= factors[rng.integers(len(factors))]
    changed = [f"{m.numerator:#x}/{m.denominator:#x}" for m in ratios]
    others = [changed, changed[:-1], [*changed, "0x1/0x1"], ["1"], ["0x1/0x0"], [], None, changed[::-1]]
    value = others[rng.integers(len(others))] if rng.random() < 0.5 else changed
    place = i if rng.random() < 0.8 else str(rng.integers(len(s.arrays["status"])))
    s.header["multipliers"] = given | {place: value}
    if value is None:
        del s.header["multipliers"][place]
    return i


def scaled_alike(rng, s):
    """Multiply all multipliers of a conflict by one positive number, which changes nothing."""
    given = s.header.get("multipliers", {})
    if not given:
        return None
    i = str(rng.choice(list(given)))
    factor = Fraction(int(rng.integers(1, 99)), int(rng.integers(1, 99)))
    ratios = [factor * Fraction(*(int(part, 16) for part in text.split("/"))) for text in given[i]]
    s.header["multipliers"] = given | {i: [f"{m.numerator:#x}/{m.denominator:#x}" for m in ratios]}
    return i


def radius_changed(rng, s):
    if "radius_lower" not in s.arrays or not len(s.arrays["radius_lower"]):
        return None
    name = rng.choice(["radius_lower", "radius_upper", "radius_centers", "radius_multipliers"])
    array = s.arrays[name]
    if not array.size:
        return None
    array[_pick(rng, array)] *= rng.choice([0.0, 0.5, 0.999, 1 - 1e-6, 1 + 1e-6, 1.001, 2.0, -1.0, 1e9, 1e-9])
    return name


def array_reshaped(rng, s):
    name = rng.choice(list(s.arrays))
    array = s.arrays[name]
    dtypes = (np.float32, np.int32, np.float64, np.int64, np.uint8, np.bool_, ">f8", ">i8", np.complex128)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changes = [
            lambda: array[:-1],
            lambda: np.concatenate([array, array[-1:]]),
            lambda: array[..., None],
            lambda: array.astype(dtypes[rng.integers(len(dtypes))]),
            lambda: np.asfortranarray(array),
            lambda: np.array([str(n) for n in array.ravel()]),
            lambda: array[::-1].copy(),
        ]
        s.arrays[name] = changes[rng.integers(len(changes))]()
    return name


def array_removed(rng, s):
    del s.arrays[rng.choice(list(s.arrays))]
    return s


def array_added(rng, s):
    n_labels = s.header["n_labels"]
    names = {"offset": n_labels, "offset_error": n_labels, "theta": n_labels, "low": 3, "high": 3, "other": 2}
    name = rng.choice(list(names))
    s.arrays[name] = rng.normal(size=names[name])
    return name


def bytes_changed(rng, s):
    return s


CHANGES = [
    status_flipped,
    number_moved,
    number_moved,
    integer_moved,
    entries_swapped,
    conflict_changed,
    evidence_exchanged,
    header_changed,
    header_changed,
    multipliers_changed,
    multipliers_changed,
    scaled_alike,
    fraction_given,
    radius_changed,
    radius_changed,
    array_reshaped,
    array_removed,
    array_added,
    bytes_changed,
]


def _damage(rng, path):
    content = bytearray(path.read_bytes())
    kind = rng.integers(4)
    if kind == 0:
        content = content[: rng.integers(len(content))]
    elif kind == 1:
        place = rng.integers(len(content))
        content[place] ^= 1 << int(rng.integers(8))
    elif kind == 2:
        start = rng.integers(len(content))
        content[start : start + 9] = rng.bytes(9)
    else:
        stream = io.BytesIO(bytes(content))
        with zipfile.ZipFile(stream, "a") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            archive.writestr(rng.choice(["status.npy", "status", "notes.txt"]), b"something")
        content = stream.getvalue()
    path.write_bytes(bytes(content))
