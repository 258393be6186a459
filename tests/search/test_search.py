"""The search's weak spots: thin regions, ill-conditioned rows, limits of time, threads and memory."""

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import labelproof as lp
from labelproof.search.propose import hot_rows
from labelproof.theory.dft import dft_matrix, dft_witness


def random_sets(n_labels, k, n_sets, seed=0):
    rng = np.random.default_rng(seed)
    return [np.sort(rng.choice(n_labels, k, replace=False)).tolist() for _ in range(n_sets)]


def test_float32_dft_at_full_load_is_proven_unargmaxable():
    sets = random_sets(2689, 25, 3)
    v = lp.verify(dft_matrix(2689, 25).astype(np.float32), sets)
    assert v.status.tolist() == [0, 0, 0]
    v.check()


def test_float64_dft_at_full_load_agrees_with_the_theorem_while_its_digits_last():
    sets = random_sets(500, 10, 5)
    v = lp.verify(dft_matrix(500, 10), sets)
    assert v.status.tolist() == [1] * 5
    v.check()


def test_float64_dft_beyond_its_digits_is_decided_in_extended_precision():
    v = lp.verify(dft_matrix(1500, 25), random_sets(1500, 25, 2))
    assert (v.status >= 0).all()
    v.check()


def test_dft_at_half_load_stays_argmaxable():
    v = lp.verify(dft_matrix(1000, 20), random_sets(1000, 10, 10))
    assert v.status.tolist() == [1] * 10
    v.check()


@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
@pytest.mark.parametrize("bias", [None, np.full(300, 0.001)])
def test_a_smooth_layer_is_verified_under_every_rule(rule, bias):
    sets = [[], [0], [7, 150], list(range(300)), list(range(0, 300, 2))]
    v = lp.verify(dft_matrix(300, 5), sets, rule=rule, bias=bias)
    assert v.status.tolist()[:4] == [0 if rule == "sparsemax" else 1, 1, 1, 1]
    assert v.status[4] == 0
    v.check()


def test_a_closed_form_witness_of_size_1e6_is_judged_for_the_stored_numbers():
    """The ideal matrix allows the set; what the stored one allows is for the verifier to say, with proof."""
    cluster = [[0, 2, 4, 6, 8]]
    ideal = dft_witness(cluster[0], 300, 5)
    assert ideal.margin < 1e-6
    for dtype in (np.float64, np.float32):
        v = lp.verify(dft_matrix(300, 5).astype(dtype), cluster)
        assert v.status[0] >= 0
        v.check()


def test_a_region_between_two_floats_has_a_fraction_for_a_witness():
    weight = np.array([[1.0], [-(2.0**-60)], [2.0]])
    v = lp.verify(weight, [[0]], bias=[0.0, 1.0, -1.0], rule="topk")
    assert v.status.tolist() == [1]
    assert isinstance(v[0].witness, tuple)
    assert Fraction(1) / (1 + Fraction(2) ** -60) < v[0].witness[0] < 1


def test_wide_layers_allow_everything_and_prove_it():
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((300, 400)).astype(np.float32)
    v = lp.verify(weight, rng.random((20, 300)) < 0.1)
    assert v.status.tolist() == [1] * 20
    v.check()


def test_dead_columns_do_not_disturb():
    rng = np.random.default_rng(1)
    weight = rng.standard_normal((40, 6))
    sets = rng.random((60, 40)) < 0.2
    dead = np.insert(weight, [0, 3, 6], 0.0, axis=1)
    assert lp.verify(dead, sets).status.tolist() == lp.verify(weight, sets).status.tolist()


@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
def test_the_result_does_not_depend_on_the_number_of_threads(rule):
    rng = np.random.default_rng(2)
    weight = rng.standard_normal((60, 9))
    sets = rng.random((700, 60)) < 0.1
    one, two = (lp.verify(weight, sets, rule=rule, bias=rng.standard_normal(60) * 0, n_jobs=n) for n in (1, 2))
    assert one.status.tolist() == two.status.tolist()
    assert np.array_equal(one.points, two.points)
    assert np.array_equal(one.conflict_rows, two.conflict_rows)


def test_no_time_at_all_gives_undecided_and_never_a_guess():
    v = lp.verify(dft_matrix(1500, 25), random_sets(1500, 25, 2), time_limit=0)
    assert v.status.tolist() == [-1, -1]
    assert "time limit of 0 s" in v[0].reason
    v.check()


def test_without_certify_only_the_status_is_kept():
    weight = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    v = lp.verify(weight, [[0], [0, 1, 2]], certify=False)
    assert v.status.tolist() == [1, 0]
    for ask in (v.check, lambda: v[0], lambda: v.margin):
        with pytest.raises(lp.CertificateError, match="no evidence was kept"):
            ask()


def test_progress_goes_to_standard_error(capsys):
    lp.verify(np.eye(2), [[0], [1]], progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "verifying" in captured.err


def test_hot_rows_are_those_that_were_tight_most_often():
    assert hot_rows(np.array([0, 5, 1, 0, 7]), most=2).tolist() == [4, 1]
    assert hot_rows(np.array([0, 5, 1, 0, 7]), most=9).tolist() == [4, 1, 2]


@pytest.mark.slow  # which compiles everything again
def test_compiled_code_stays_within_its_arrays(tmp_path):
    code = """
import numpy as np, labelproof as lp
rng = np.random.default_rng(0)
for n, d in ((3, 2), (30, 4), (200, 12), (40, 60)):
    for rule in ("sigmoid", "topk", "sparsemax"):
        for domain in (None, "nonnegative", (-1.0, 2.0)):
            lp.verify(rng.standard_normal((n, d)), rng.random((40, n)) < 3 / n, rule=rule, domain=domain, n_jobs=1)
print("within")
"""
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)  # noqa: S603
    assert answer.stdout.strip() == "within", answer.stderr
