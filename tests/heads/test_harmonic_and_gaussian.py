"""Random frequencies and normal columns: what they compute, what they claim, and what an adversary finds."""

import numpy as np
import pytest
import scipy.optimize
import torch

import labelproof as lp
from labelproof.heads import CodeHead, DFTHead, GaussianHead, HarmonicHead
from labelproof.heads.adversary import find_worst_set, largest_margin, vanishing_sets
from labelproof.theory.codes import Code, switching_set
from labelproof.theory.dft import harmonic_matrix

HEADS = {
    "harmonic": lambda **kw: HarmonicHead(40, 60, 2, 4, random=8, **kw),
    "harmonic by transform": lambda **kw: HarmonicHead(40, 60, 2, 4, random=8, nodes="fast", path="fft", **kw),
    "gaussian": lambda **kw: GaussianHead(150, 60, 2, 4, **kw),
}
every_head = pytest.mark.parametrize("make", HEADS.values(), ids=HEADS.keys())


@every_head
def test_logits_and_gradients_are_those_of_the_matrix(make):
    torch.manual_seed(0)
    head = make(dtype=torch.float64)
    e = torch.randn(3, head.in_features, dtype=torch.float64, requires_grad=True)
    expected = head.projection(e) @ head.weight.T
    torch.testing.assert_close(head(e), expected)
    leaves = [e, *head.parameters()]
    for got, wanted in zip(
        torch.autograd.grad(head(e).square().sum(), leaves),
        torch.autograd.grad(expected.square().sum(), leaves),
        strict=True,
    ):
        torch.testing.assert_close(got, wanted)


@every_head
def test_they_convert_load_compile_and_export(make):
    torch.manual_seed(0)
    torch.compiler.reset()
    head, other = make(), make()
    other.load_state_dict(head.state_dict())
    e = torch.randn(5, head.in_features)
    assert torch.equal(head(e), other(e))
    assert torch.allclose(torch.compile(head, backend="aot_eager", fullgraph=True)(e), head(e), atol=1e-5)
    exported = torch.export.export(head, (e,))
    assert torch.allclose(exported.module()(e), head(e), atol=1e-5)
    assert head.bfloat16().columns.dtype == torch.float32
    assert torch.allclose(
        head(torch.zeros(head.in_features).bfloat16()).float().sigmoid(), torch.full((60,), 2 / 60), atol=2e-3
    )


def test_the_seed_decides_the_columns_and_another_is_refused():
    for make, name in ((HEADS["harmonic"], "frequencies"), (HEADS["gaussian"], "drawn")):
        head = make(seed=1)
        assert torch.equal(head.weight[:, : head.n_fixed], make(seed=1).weight[:, : head.n_fixed])
        assert not torch.equal(head.weight[:, : head.n_fixed], make(seed=2).weight[:, : head.n_fixed])
        with pytest.raises(RuntimeError, match=f"{name}: expected"):
            make(seed=2).load_state_dict(head.state_dict())


def test_low_frequencies_come_first_and_the_others_above_them():
    head = HarmonicHead(80, 100, 5, 0, random=20, dtype=torch.float64)
    assert head.n_nodes == 101
    assert head.frequencies[:5].tolist() == [1, 2, 3, 4, 5]
    assert (head.frequencies[5:] > 5).all()
    assert np.array_equal(head.weight.numpy() / head.scale, harmonic_matrix(101, head.frequencies.numpy())[:100])
    assert HarmonicHead(200, 100, 5, 0, random=45).features == 101


def test_a_harmonic_head_has_the_low_witness_and_says_what_a_search_found():
    head = HarmonicHead(60, 100, 3, 0, random=12)
    x = head.witness([4, 40, 41])
    assert (head.double().logits(x) > 0).nonzero().flatten().tolist() == [4, 40, 41]
    guarantee = head.float().guarantee([[4, 40, 41]], rounds=2)
    assert guarantee.level == "ideal arithmetic"
    assert guarantee.is_safe.all()
    assert "smallest margin found was" in str(guarantee)
    low = find_worst_set(DFTHead(60, 100, 3, 0).weight.double().numpy(), 3, rounds=2)
    assert low.margin < guarantee.margin
    assert head.guarantee().margin >= guarantee.margin
    assert head.guarantee(rounds=None).margin is None


@pytest.mark.parametrize("active", [[0], [3, 4, 5], [0, 17, 33]])
def test_the_largest_margin_is_the_distance_of_the_rows_hull_from_the_origin(active):
    weight = np.random.default_rng(len(active)).normal(size=(40, 60))
    signs = np.where(np.isin(np.arange(40), active), 1.0, -1.0)
    rows = weight * (signs / np.linalg.norm(weight, axis=1))[:, None]
    _, residual = scipy.optimize.nnls(np.vstack([rows.T, np.ones(40)]), np.append(np.zeros(60), 1.0))
    margin, x = largest_margin(weight, active)
    assert margin == pytest.approx(residual / np.sqrt(1 - residual**2), rel=1e-6)
    assert (rows @ x).min() / np.linalg.norm(x) == pytest.approx(margin, rel=1e-6)


@pytest.mark.parametrize(("length", "size"), [(5, 13), (6, 20), (8, 45)])
def test_the_adversary_finds_from_the_matrix_alone_what_a_code_cannot_predict(length, size):
    code = Code(53, 2, length)
    weight = CodeHead(500, 600, code.k, 0, code=code).weight.double().numpy()
    worst = find_worst_set(weight, size, rounds=0)
    assert worst.is_proven
    assert worst.margin == 0
    assert code.k < len(worst.labels) <= size == len(switching_set(code))
    assert lp.verify(weight, [worst.labels]).status == [0]


def test_the_adversary_finds_the_sets_that_a_rounded_dft_head_lost():
    weight = DFTHead(600, 1500, 20, 0).weight.double().numpy()
    assert find_worst_set(weight, 20, rounds=0).is_proven


def test_the_adversary_tries_the_sets_that_it_is_given():
    code = Code(13, 2, 5)
    head = CodeHead(70, 160, code.k, 0, code=code)
    weight = head.weight.double().numpy()[np.random.default_rng(0).permutation(160)]  # no rule to be found
    assert not find_worst_set(weight, 13, rounds=0).is_proven
    where = {tuple(row): i for i, row in enumerate(weight.tolist())}
    given = [where[tuple(row)] for row in head.weight.double()[list(switching_set(code))].tolist()]
    worst = find_worst_set(weight, 13, candidates=[given], rounds=0)
    assert worst.is_proven
    assert worst.labels == tuple(sorted(given))


def test_rows_without_a_rule_have_few_sets_that_vanish():
    assert vanishing_sets(np.ones((5, 3)), 3) == []
    assert all(len(one) <= 3 for one in vanishing_sets(np.random.default_rng(0).normal(size=(50, 8)), 3))


def test_the_adversary_lowers_the_margin_by_its_swaps():
    weight = np.concatenate([np.ones((80, 1)), np.random.default_rng(0).normal(size=(80, 30))], axis=1)
    first, later = (find_worst_set(weight, 4, rounds=rounds) for rounds in (0, 6))
    assert later.is_proven or later.margin < first.margin
    assert len(later.labels) <= 4
    assert later.n_tried > first.n_tried


def test_a_gaussian_head_states_a_probability_and_keeps_it():
    torch.manual_seed(0)
    head = GaussianHead(150, 60, 2, 4)
    guarantee = head.guarantee([[1, 2], [50, 59], []])
    assert guarantee.level == "probabilistic"
    assert guarantee.failure == 1e-6
    assert guarantee.holds_in_dtype
    assert guarantee.is_safe.all()
    assert 0 < guarantee.share_of_ceiling < 1
    assert "except for at most a share of 1e-06 of all seeds" in str(guarantee)
    weight = head.weight.detach().double().numpy()
    sets = [[i, (i * 7 + 1) % 60] for i in range(60)]
    assert (lp.verify(weight, sets).status == 1).all()
    assert min(largest_margin(weight, active)[0] for active in sets) > guarantee.margin
    with torch.no_grad():
        head.slack_weight[0, 0] = torch.nan
    with pytest.raises(lp.CertificateError, match="slack_weight: expected finite numbers"):
        head.guarantee()


def test_a_narrow_encoder_is_told_the_widest_k_of_its_kind():
    with pytest.warns(UserWarning, match="is the most that this encoder can keep"):
        k = GaussianHead(120, 60, 3, 0).widest_k()
    assert GaussianHead(120, 60, k, 0).features <= 120
    with pytest.warns(UserWarning, match=f"k = {k} is the most"):
        GaussianHead(120, 60, k + 1, 0)
    with pytest.warns(UserWarning, match="k = 1 is the most that this encoder can keep"):
        assert HarmonicHead(20, 60, 2, 0, random=8).widest_k() == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianHead(150, 60, 2, 0, columns=20), "columns must be at least 1"),
        (lambda: GaussianHead(150, 60, 2, 0, scale=0.3), "scale must be a power of two"),
        (lambda: GaussianHead(150, 60, 60, 0), "n_labels must be an integer of at least 61, got 60"),
        (lambda: HarmonicHead(60, 60, 2, 0, random=40), "random must be at most 28, the frequencies above k = 2"),
        (lambda: HarmonicHead(60, 60, 2, 0, nodes="slow"), "nodes must be 'prime' or 'fast', got 'slow'"),
        (lambda: HarmonicHead(60, 10, 5, 0), r"k must be at most \(n_labels - 1\) / 2"),
        (lambda: harmonic_matrix(10, [1, 1]), "frequencies must be different numbers from 1 to 4"),
        (lambda: harmonic_matrix(10, [5]), "frequencies must be different numbers from 1 to 4"),
    ],
)
def test_a_wrong_argument_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
