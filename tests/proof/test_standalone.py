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
from tampering import stored_results, tamper

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


def test_what_the_first_checker_rejects_the_second_rejects(tmp_path, files):
    rng = np.random.default_rng(1)
    results = [stored for _, stored in stored_results(rng, tmp_path, n_sets=4)]
    rejected = accepted = 0
    kinds = {}
    while rejected < 2000:
        stored = results[rng.integers(len(results))]
        stored.write_weights(files[1])
        kind = tamper(rng, stored, files[0])
        first, second = first_says(files[0], stored.weight, stored.bias), second_says(*files)
        if first is not None:
            assert second is not None or is_off_by_rounding(first), (kind, first)
            rejected += 1
            kinds[kind] = kinds.get(kind, 0) + 1
        else:
            assert second is None or any(text in second for text in STRICTER), (kind, second)
            accepted += 1
    assert min(kinds.values()) > 10
    assert accepted > 100
