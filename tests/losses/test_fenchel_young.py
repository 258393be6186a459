"""The Fenchel–Young losses: definitions, identities, gradients, forms of targets, weights, masks and bad input."""

import entmax as peer
import numpy as np
import pytest
import scipy.sparse
import torch
from loss_definitions import assert_gradients_are_apart
from torch.nn import functional as F  # noqa: N812 - torch's habit

from labelproof.activations import entmax, sparsemax
from labelproof.losses.fenchel_young import (
    EntmaxLoss,
    PickAllLabelsLoss,
    SparsemaxLoss,
    entmax_loss,
    pick_all_labels_loss,
    sparsemax_loss,
)

FAMILY = {
    "softmax": (1.0, PickAllLabelsLoss),
    "divergence": (1.0, lambda **k: EntmaxLoss(1.0, **k)),
    "entmax": (1.5, EntmaxLoss),
    "odd": (1.3, lambda **k: EntmaxLoss(1.3, **k)),
    "sparsemax": (2.0, SparsemaxLoss),
    "beyond": (3.0, lambda **k: EntmaxLoss(3.0, **k)),
}
family = pytest.mark.parametrize(("alpha", "make"), FAMILY.values(), ids=FAMILY)


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def label_rows(n=6, n_labels=9, seed=0):
    """0/1 rows with one to four labels."""
    rng = np.random.default_rng(seed)
    y = torch.zeros(n, n_labels, dtype=torch.float64)
    for row in y:
        row[rng.choice(n_labels, rng.integers(1, 5), replace=False)] = 1
    return y


def gradient(loss, z, *args, **options):
    z = z.detach().clone().requires_grad_()
    (g,) = torch.autograd.grad(loss(z, *args, **options), z)
    return g


@family
@pytest.mark.parametrize("n_labels", [9, 700])
@pytest.mark.parametrize("scale", [0.01, 1.0, 20.0])
def test_the_gradient_is_p_minus_q(alpha, make, n_labels, scale):
    z, y = scale * normal(6, n_labels), label_rows(n_labels=n_labels)
    expected = entmax(z, alpha) - y / y.sum(-1, keepdim=True)
    torch.testing.assert_close(gradient(make(reduction="sum"), z, y), expected, atol=1e-12, rtol=0)


@family
def test_first_and_second_derivatives_are_right(alpha, make):
    z, y = normal(4, 7).requires_grad_(), label_rows(4, 7)
    weight, of_label = torch.rand(4, dtype=torch.float64), torch.rand(7, dtype=torch.float64)

    def loss(x):
        return make(reduction="none", label_weight=of_label)(x, y, example_weight=weight)

    assert torch.autograd.gradcheck(loss, (z,))
    assert torch.autograd.gradgradcheck(loss, (z,))


@pytest.mark.parametrize("n_labels", [2, 50, 900])
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_class_indices_agree_with_the_entmax_package_and_with_torch(n_labels, scale):
    z = scale * normal(20, n_labels)
    t = torch.randint(n_labels, (20,), generator=torch.Generator().manual_seed(1))
    pairs = (
        (sparsemax_loss, peer.sparsemax_loss),
        (entmax_loss, peer.entmax15_loss),
        (pick_all_labels_loss, lambda z, t: F.cross_entropy(z, t, reduction="none")),
        (lambda z, t, **k: entmax_loss(z, t, 1.0, **k), lambda z, t: F.cross_entropy(z, t, reduction="none")),
    )
    for ours, theirs in pairs:
        torch.testing.assert_close(ours(z, t, reduction="none"), theirs(z, t), atol=1e-9, rtol=1e-9)


def test_pick_all_labels_is_torchs_cross_entropy_plain_and_normalised():
    z, y = normal(6, 9), label_rows()
    q = y / y.sum(-1, keepdim=True)
    torch.testing.assert_close(pick_all_labels_loss(z, y), F.cross_entropy(z, q))
    plain = -(y * torch.log_softmax(z, -1)).sum(-1)
    torch.testing.assert_close(pick_all_labels_loss(z, y, normalized=False, reduction="none"), plain)
    entropy = torch.special.entr(q).sum(-1).mean()
    torch.testing.assert_close(entmax_loss(z, y, 1.0) + entropy, pick_all_labels_loss(z, y))
    of_label = torch.rand(9, dtype=torch.float64)
    torch.testing.assert_close(
        pick_all_labels_loss(z, y, label_weight=of_label, reduction="sum"),
        F.cross_entropy(z, q, weight=of_label, reduction="sum"),
    )


def test_two_labels_give_the_modified_huber_loss():
    t = torch.linspace(-4, 4, 161, dtype=torch.float64)
    losses = sparsemax_loss(torch.stack([t, torch.zeros_like(t)], 1), torch.zeros(161).long(), reduction="none")
    expected = torch.where(t >= 1, 0, torch.where(t <= -1, -t, (1 - t) ** 2 / 4))
    torch.testing.assert_close(losses, expected, atol=1e-15, rtol=1e-15)


def test_the_sparsemax_loss_is_its_published_formula_for_several_labels():
    z, y = normal(6, 9), label_rows()
    q, p = y / y.sum(-1, keepdim=True), sparsemax(z)
    tau = torch.where(p > 0, z - p, -torch.inf).amax(-1, keepdim=True)
    formula = -(q * z).sum(-1) + (torch.where(p > 0, z**2 - tau**2, 0).sum(-1) + (q**2).sum(-1)) / 2
    torch.testing.assert_close(sparsemax_loss(z, y, reduction="none"), formula)


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("n_labels", [5, 600])
def test_the_loss_is_zero_exactly_from_the_margin_on(alpha, n_labels):
    margin = 1 / (alpha - 1)
    z = -normal(4, n_labels).abs()
    z[:, 0] = 0
    for lead, is_zero in ((margin, True), (margin + 1, True), (0.99 * margin, False)):
        z[:, 3] = lead
        losses = entmax_loss(z, torch.full((4,), 3), alpha, reduction="none")
        assert ((losses == 0) if is_zero else (losses > 0)).all()


@family
def test_the_loss_is_never_negative_and_zero_at_its_own_probabilities(alpha, make):
    z = normal(50, 9)
    q = entmax(z, alpha)
    losses = make(reduction="none")(z, q)
    if make is PickAllLabelsLoss:
        losses = losses - torch.special.entr(q).sum(-1)  # a cross entropy is least, not 0
    torch.testing.assert_close(losses, torch.zeros(50, dtype=torch.float64), atol=1e-13, rtol=0)
    assert (make(reduction="none")(z, label_rows(50)) >= 0).all()


@family
def test_perfect_is_better_than_random_is_better_than_wrong(alpha, make):
    y = label_rows()
    loss = make()
    assert loss(8 * y, y) < loss(normal(6, 9), y) < loss(-8 * y, y)


@family
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta", "ignore:Sparse invariant checks")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_forms_of_targets_agree(alpha, make, dtype):
    z, y = normal(8, 300, dtype=dtype), label_rows(8, 300)
    y[2] = 0
    csr = scipy.sparse.csr_matrix(y.numpy())
    torch_csr = torch.sparse_csr_tensor(*map(torch.tensor, (csr.indptr, csr.indices, csr.data)), csr.shape)
    lists = [row.nonzero()[0].tolist() for row in y.numpy()]
    q = y / y.sum(-1, keepdim=True).clamp(min=1)
    weight = torch.rand(8, dtype=dtype)
    expected = make()(z, y, example_weight=weight), gradient(make(), z, y, example_weight=weight)
    for form in (y.bool(), y.long(), y.float(), q, y.numpy(), lists, csr, torch_csr):
        found = make()(z, form, example_weight=weight), gradient(make(), z, form, example_weight=weight)
        torch.testing.assert_close(found, expected)


@family
def test_class_indices_are_one_hot_rows_and_ignored_ones_are_empty_rows(alpha, make):
    z, t = normal(5, 7), torch.tensor([3, -100, 0, 6, -100])
    y = torch.zeros(5, 7, dtype=torch.float64)
    y[[0, 2, 3], [3, 0, 6]] = 1
    for reduction in ("none", "mean", "sum"):
        loss = make(reduction=reduction)
        torch.testing.assert_close(loss(z, t), loss(z, y))
    torch.testing.assert_close(make()(z, t), make()(z[[0, 2, 3]], t[[0, 2, 3]]))
    torch.testing.assert_close(make(ignore_index=0)(z, t.abs() % 7), make(ignore_index=0)(z, (t.abs() % 7).numpy()))
    assert (gradient(make(), z, t)[[1, 4]] == 0).all()


@family
def test_a_batch_without_any_label_has_loss_and_gradient_zero(alpha, make):
    z = normal(3, 4)
    z[1] = -torch.inf
    for targets in (torch.zeros(3, 4), [[], [], []], torch.full((3,), -100)):
        assert make()(z, targets) == 0
        assert (gradient(make(), z, targets) == 0).all()
    assert make()(torch.zeros(0, 4), torch.zeros(0, 4)) == 0


@family
def test_an_unknown_label_is_as_good_as_absent(alpha, make):
    z, y = normal(6, 9), label_rows()
    mask = torch.ones(6, 9, dtype=torch.bool)
    mask[:, 6:] = False
    y[:, 0] = 1
    lists = [row.nonzero()[0].tolist() for row in y.numpy()]
    expected = gradient(make(), z[:, :6], y[:, :6])
    for form in (y, lists):
        torch.testing.assert_close(make()(z, form, mask=mask), make()(z[:, :6], y[:, :6]))
        found = gradient(make(), z, form, mask=mask)
        torch.testing.assert_close(found[:, :6], expected)
        assert (found[:, 6:] == 0).all()
    mask[2] = False
    assert make(reduction="none")(z, y, mask=mask)[2] == 0
    kept = [0, 1, 3, 4, 5]
    torch.testing.assert_close(make()(z, y, mask=mask), make()(z[kept], y[kept], mask=mask[kept]))


@family
def test_weights_multiply_as_stated(alpha, make):
    z, y = normal(6, 9), label_rows()
    of_label, weight = torch.rand(9, dtype=torch.float64), torch.rand(6, dtype=torch.float64)
    losses = make(reduction="none")(z, y)
    torch.testing.assert_close(make()(z, y, example_weight=weight), (losses * weight).mean())
    t = torch.arange(6)
    single = make(reduction="none")(z, t)
    torch.testing.assert_close(make(reduction="none", label_weight=of_label)(z, t), single * of_label[:6])
    w_y = of_label * y
    expected = make(reduction="none")(z, w_y / w_y.sum(-1, keepdim=True)) * w_y.sum(-1) / y.sum(-1)
    lists = [row.nonzero()[0].tolist() for row in y.numpy()]
    for form in (y, lists):
        torch.testing.assert_close(make(reduction="none", label_weight=of_label)(z, form), expected)
    nothing = torch.zeros(9)
    assert make(label_weight=nothing)(z, y) == 0
    assert (gradient(make(label_weight=nothing), z, y) == 0).all()


def test_plain_pick_all_labels_adds_up_over_labels():
    z, y = normal(6, 9), label_rows()
    of_label = torch.rand(9, dtype=torch.float64)
    expected = sum(of_label[j] * F.cross_entropy(z[i], torch.tensor(j)) for i, j in y.nonzero().tolist())
    found = pick_all_labels_loss(z, y, normalized=False, label_weight=of_label, reduction="sum")
    torch.testing.assert_close(found, expected)


@family
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_large_offset_changes_nothing(alpha, make, dtype):
    """The entmax package loses all digits there: it subtracts squares of the offset."""
    z, y = (torch.round(normal(6, 400) * 8) / 8).to(dtype), label_rows(n_labels=400)
    offset = 2.0**20
    tolerance = 1e-6 if dtype == torch.float32 else 1e-12
    for shift in (offset, -offset):
        torch.testing.assert_close(make()(z + shift, y), make()(z, y), atol=tolerance, rtol=tolerance)
        g = gradient(make(), z + shift, y)
        torch.testing.assert_close(g, gradient(make(), z, y), atol=tolerance, rtol=tolerance)


@family
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(alpha, make, dtype):
    z, y = normal(6, 500).to(dtype), label_rows(n_labels=500)
    assert make()(z, y).dtype == torch.float32
    assert make()(z, y) == make()(z.float(), y)
    assert gradient(make(), z, y).dtype == dtype


@family
def test_the_gradient_follows_the_upstream_gradient_and_a_second_pass(alpha, make):
    z, y = normal(6, 400).requires_grad_(), label_rows(n_labels=400)
    loss = make()(z, y)
    (once,) = torch.autograd.grad(loss, z, retain_graph=True)
    (scaled,) = torch.autograd.grad(-3 * loss, z)
    torch.testing.assert_close(scaled, -3 * once)


@family
def test_any_leading_dimensions_and_layouts(alpha, make):
    z, y = normal(2, 3, 9), label_rows(6).reshape(2, 3, 9)
    losses = make(reduction="none")(z, y)
    assert losses.shape == (2, 3)
    torch.testing.assert_close(losses.reshape(-1), make(reduction="none")(z.reshape(6, 9), y.reshape(6, 9)))
    t = y.argmax(-1)
    assert make(reduction="none")(z, t).shape == (2, 3)
    assert make(reduction="none")(z[0, 0], t[0, 0]).shape == ()
    strided = normal(9, 6).T
    torch.testing.assert_close(make()(strided, y.reshape(6, 9)), make()(strided.clone(), y.reshape(6, 9)))


@family
def test_a_label_that_cannot_be_predicted_costs_infinity(alpha, make):
    z = torch.tensor([[0.0, 1.0, -torch.inf]], dtype=torch.float64)
    assert make()(z, torch.tensor([2])) == torch.inf
    assert make()(z, torch.tensor([1])).isfinite()
    assert gradient(make(), z, torch.tensor([1])).isfinite().all()


@family
def test_nan_logits_give_nan_and_spare_other_rows(alpha, make):
    z = normal(3, 300)
    z[1, 7] = torch.nan
    losses = make(reduction="none")(z, torch.tensor([0, 1, 2]))
    assert losses.isnan().tolist() == [False, True, False]
    g = gradient(make(reduction="sum"), z, torch.tensor([0, 1, 2]))
    assert g.isnan().any(-1).tolist() == [False, True, False]


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # from inside torch's tracer
def test_a_compiled_loss_has_one_graph_and_the_same_gradient():
    z, y = normal(4, 9), label_rows(4, 9)
    compiled = torch.compile(sparsemax_loss, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(z, y), sparsemax_loss(z, y))
    torch.testing.assert_close(gradient(compiled, z, y), gradient(sparsemax_loss, z, y))


def test_dense_supports_longer_than_the_lists_are_read_again():
    z = (1e-3 * normal(3, 5000, dtype=torch.float32)).requires_grad_()
    t = torch.tensor([0, 17, 4999])
    g = gradient(sparsemax_loss, z, t, reduction="sum")
    expected = sparsemax(z.detach())
    expected[torch.arange(3), t] -= 1
    torch.testing.assert_close(g, expected)
    exact = sparsemax_loss(z.double(), t)
    torch.testing.assert_close(sparsemax_loss(z, t).double(), exact, atol=1e-6, rtol=1e-6)


def test_bad_input_is_refused_in_one_sentence():
    z = normal(3, 4)
    with pytest.raises(ValueError, match="alpha must be a finite number of at least 1, got"):
        entmax_loss(z, [[0], [1], [2]], 0.9)
    with pytest.raises(ValueError, match="alpha must be a finite number of at least 1, got"):
        EntmaxLoss(np.inf)
    with pytest.raises(ValueError, match="reduction must be one of 'none', 'mean', 'sum', got 'avg'"):
        sparsemax_loss(z, [[0], [1], [2]], reduction="avg")
    with pytest.raises(ValueError, match="reduction must be one of"):
        SparsemaxLoss("avg")
    with pytest.raises(ValueError, match="targets must be label indices from 0 to 3, got values from 0 to 4"):
        sparsemax_loss(z, torch.tensor([0, 4, 1]))
    with pytest.raises(ValueError, match="targets must be integer class indices"):
        sparsemax_loss(z, torch.tensor([0.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match=r"targets must have the shape of logits \(3, 4\), got \(3, 5\)"):
        sparsemax_loss(z, torch.zeros(3, 5))
    with pytest.raises(ValueError, match="targets must lie between 0 and 1"):
        sparsemax_loss(z, -torch.ones(3, 4))
    with pytest.raises(ValueError, match="label_weight must not be negative, got -1"):
        sparsemax_loss(z, [[0], [1], [2]], label_weight=-torch.ones(4))
    with pytest.raises(ValueError, match="label_weight must be a number or have shape"):
        sparsemax_loss(z, [[0], [1], [2]], label_weight=torch.ones(3))
    with pytest.raises(ValueError, match="example_weight must have shape"):
        sparsemax_loss(z, [[0], [1], [2]], example_weight=torch.ones(4))
    with pytest.raises(ValueError, match="mask must be a bool tensor"):
        sparsemax_loss(z, [[0], [1], [2]], mask=torch.ones(3, 4))
    with pytest.raises(ValueError, match=r"logits must have shape .* with at least one label, got \(3, 0\)"):
        sparsemax_loss(torch.zeros(3, 0), torch.zeros(3, 0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_labels", [7, 400])
def test_a_gradient_that_was_given_away_is_not_the_one_of_the_next_call(n_labels, dtype):
    logits = 3 * torch.randn(6, n_labels, dtype=dtype)
    for alpha in (1.0, 1.5, 2.0):
        assert_gradients_are_apart(EntmaxLoss(alpha), logits, torch.arange(6))
