"""What holds for each loss: forms of targets, masks, weights, precision, order, and the functional twins."""

import numpy as np
import pytest
import scipy.sparse
import torch
from loss_definitions import EVERY_LOSS, a_batch, assert_gradients_are_apart
from torch.utils._python_dispatch import TorchDispatchMode

from labelproof import functional, losses
from labelproof.losses import SigmoidF1Loss

NEWER = ["hill", "splc", "asymmetric polynomial", "zlpr", "two-way", "soft top k"]
COMPILED = ["bce", "focal", "asymmetric", "sigmoidF1", "sigmoidF1, micro", "sigmoidF1, samples", *NEWER]

every_loss = pytest.mark.parametrize("make", EVERY_LOSS.values(), ids=EVERY_LOSS)


def value_and_gradient(loss, logits, targets, **options):
    z = logits.detach().clone().requires_grad_()
    value = loss(z, targets, **options)
    value.backward()
    return value.detach(), z.grad


@every_loss
def test_perfect_is_better_than_random_is_better_than_wrong(make):
    noise, targets = a_batch(seed=4, dtype=torch.float32)
    perfect = 8 * (2 * targets - 1)
    loss = make()
    assert loss(perfect, targets) < loss(noise, targets) < loss(-perfect, targets)


@every_loss
@pytest.mark.filterwarnings("ignore:Sparse")  # torch warns of the CSR layout and of its checks
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_forms_of_targets_agree(make, dtype):
    logits, targets = a_batch(dtype=dtype)
    loss = make()
    dense = value_and_gradient(loss, logits, targets)
    csr = scipy.sparse.csr_matrix(targets.numpy())
    torch_csr = torch.sparse_csr_tensor(torch.tensor(csr.indptr), torch.tensor(csr.indices), torch.tensor(csr.data))
    lists = [row.nonzero()[0].tolist() for row in targets.numpy()]
    for form in (targets.bool(), targets.long(), targets.numpy(), lists, csr, csr.astype(np.int8), torch_csr):
        for ours, theirs in zip(value_and_gradient(loss, logits, form), dense, strict=True):
            torch.testing.assert_close(ours, theirs)


@every_loss
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_single_precision_agrees_with_double(make, sparse):
    logits, targets = a_batch(50, 70, spread=6.0)
    form = scipy.sparse.csr_array(targets.numpy()) if sparse else targets
    exact = value_and_gradient(make(), logits, form)
    single = value_and_gradient(make(), logits.float(), form)
    torch.testing.assert_close(single[0].double(), exact[0], atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(single[1].double(), exact[1], atol=1e-8, rtol=2e-5)


@every_loss
def test_an_unknown_label_has_no_loss_whatever_its_logit_and_target(make):
    logits, targets = a_batch(dtype=torch.float32)
    mask = torch.rand(logits.shape, generator=torch.Generator().manual_seed(1)) < 0.8
    loss = make()
    value, gradient = value_and_gradient(loss, logits, targets, mask=mask)
    other = torch.where(mask, logits, -3.0), torch.where(mask, targets, 1 - targets)
    torch.testing.assert_close(loss(*other, mask=mask), value)
    assert (gradient[~mask] == 0).all()
    lists = [row.nonzero()[0].tolist() for row in targets.numpy()]
    torch.testing.assert_close(value_and_gradient(loss, logits, lists, mask=mask), (value, gradient))


@every_loss
def test_a_mask_of_whole_columns_is_as_good_as_no_such_label(make):
    logits, targets = a_batch()
    mask = torch.ones(logits.shape, dtype=torch.bool)
    mask[:, 5:] = False
    torch.testing.assert_close(make()(logits, targets, mask=mask), make()(logits[:, :5], targets[:, :5]))


@every_loss
def test_weights_of_one_change_nothing(make):
    logits, targets = a_batch(dtype=torch.float32)
    weighted = make(label_weight=torch.ones(logits.shape[1]))
    value = weighted(logits, targets, example_weight=torch.ones(len(logits)))
    torch.testing.assert_close(value, make()(logits, targets))


@every_loss
def test_leading_dimensions_are_examples(make):
    logits, targets = a_batch(24, 7, dtype=torch.float32)
    loss = make()
    torch.testing.assert_close(loss(logits.view(2, 3, 4, 7), targets.view(2, 3, 4, 7)), loss(logits, targets))


@every_loss
def test_soft_targets_are_differentiated(make):
    logits, targets = a_batch(5, 3)
    soft = (0.2 + 0.6 * targets).requires_grad_()
    loss = make()
    assert torch.autograd.gradcheck(lambda z: loss(z, soft.detach()), logits.requires_grad_())
    single = value_and_gradient(loss, logits.float(), soft.detach().float())
    exact = value_and_gradient(loss, logits, soft.detach())
    torch.testing.assert_close(single[1].double(), exact[1], atol=1e-7, rtol=1e-5)


@every_loss
def test_strides_do_not_matter(make):
    logits, targets = a_batch(dtype=torch.float32)
    turned = logits.T.contiguous().T, targets.T.contiguous().T
    torch.testing.assert_close(
        value_and_gradient(make(), *turned), value_and_gradient(make(), logits, targets), rtol=1e-5, atol=1e-7
    )


@every_loss
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(make, dtype):
    logits, targets = a_batch(dtype=dtype, spread=8.0)
    value, gradient = value_and_gradient(make(), logits, targets)
    expected, slope = value_and_gradient(make(), logits.float(), targets.float())
    assert value.dtype == torch.float32
    assert gradient.dtype == dtype
    assert value == expected
    assert torch.equal(gradient, slope.to(dtype))


@every_loss
def test_autocast_changes_nothing_after_the_logits(make):
    features, targets = torch.randn(24, 5, generator=torch.Generator().manual_seed(2)), a_batch(dtype=torch.float32)[1]
    layer = torch.nn.Linear(5, 7)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = layer(features)
        loss = make()(logits, targets)
    assert logits.dtype == torch.bfloat16
    assert loss == make()(logits.float(), targets)
    loss.backward()
    assert layer.weight.grad.isfinite().all()


@every_loss
def test_huge_logits_give_no_nan(make):
    _, targets = a_batch(dtype=torch.float32)
    for scale in (100.0, 1e4, 1e30):
        for sign in (1, -1):
            value, gradient = value_and_gradient(make(), sign * scale * (2 * targets - 1), targets)
            assert value.isfinite()
            assert gradient.isfinite().all()


@every_loss
def test_a_nan_is_not_hidden(make):
    logits, targets = a_batch(dtype=torch.float32)
    logits[0, 0] = torch.nan
    assert make()(logits, targets).isnan()


@every_loss
def test_an_empty_batch_has_the_loss_zero(make):
    value, gradient = value_and_gradient(make(), torch.zeros(0, 4), torch.zeros(0, 4))
    assert value == 0
    assert gradient.shape == (0, 4)


@every_loss
def test_threads_do_not_change_the_loss(make):
    logits, targets = a_batch(700, 600, dtype=torch.float32)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = value_and_gradient(make(), logits, targets)
        torch.set_num_threads(3)
        torch.testing.assert_close(value_and_gradient(make(), logits, targets), one, rtol=1e-5, atol=1e-9)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("masked", [pytest.param(False, marks=pytest.mark.slow), True], ids=["all known", "masked"])
@pytest.mark.parametrize("name", [*COMPILED, "mcc", "jaccard, weighted"])
def test_torch_compile_makes_one_graph(name, masked):
    logits, targets = a_batch(dtype=torch.float32)
    loss = EVERY_LOSS[name](label_weight=torch.linspace(0.5, 2.0, 7) if masked else None)
    options = {"mask": logits > -2, "example_weight": torch.linspace(0.5, 2.0, 24)} if masked else {}
    torch._dynamo.reset()
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    found = value_and_gradient(compiled, logits, targets, **options)
    torch.testing.assert_close(found, value_and_gradient(loss, logits, targets, **options))


@pytest.mark.parametrize("name", ["bce", "asymmetric", "sigmoidF1", "sigmoidF1, samples", "splc", "zlpr", "two-way"])
def test_transforms_of_torch_func_work(name):
    loss = EVERY_LOSS[name]()
    batches = [a_batch(6, 4, dtype=torch.float32, seed=seed) for seed in (1, 2)]
    expected = torch.stack([value_and_gradient(loss, *batch)[1] for batch in batches])
    logits, targets = (torch.stack(part) for part in zip(*batches, strict=True))
    torch.testing.assert_close(torch.func.grad(loss)(logits[0], targets[0]), expected[0])
    torch.testing.assert_close(torch.vmap(torch.func.grad(loss))(logits, targets), expected)


@pytest.mark.parametrize("name", ["asymmetric", "sigmoidF1"])
def test_gradients_can_be_taken_in_batches(name):
    logits, targets = a_batch(6, 4, dtype=torch.float32)
    logits.requires_grad_()
    factors = torch.tensor([1.0, 3.0])
    loss = EVERY_LOSS[name]()(logits, targets)
    (gradients,) = torch.autograd.grad(loss, logits, factors, is_grads_batched=True)
    expected = value_and_gradient(EVERY_LOSS[name](), logits, targets)[1]
    torch.testing.assert_close(gradients, factors.view(2, 1, 1) * expected)


@every_loss
def test_a_gradient_that_was_given_away_is_not_the_one_of_the_next_call(make):
    logits, targets = a_batch(8, 5, dtype=torch.float32)
    assert_gradients_are_apart(make(), logits, targets)


def test_targets_and_weights_can_have_a_gradient_too():
    logits, targets = a_batch(6, 4, dtype=torch.float32)
    soft, weight = (0.2 + 0.6 * targets).requires_grad_(), torch.ones(6, requires_grad=True)
    for name in ("asymmetric", "sigmoidF1"):
        loss = EVERY_LOSS[name]()
        assert torch.autograd.grad(loss(logits, soft), soft)[0].abs().min() > 0
        assert torch.autograd.grad(loss(logits, targets, example_weight=weight), weight)[0].abs().min() > 0


def test_functional_twins_are_the_modules():
    logits, targets = a_batch()
    twins = {
        losses.BinaryCrossEntropyLoss: functional.binary_cross_entropy_loss,
        losses.FocalLoss: functional.focal_loss,
        losses.AsymmetricLoss: functional.asymmetric_loss,
        losses.AsymmetricPolynomialLoss: functional.asymmetric_polynomial_loss,
        losses.HillLoss: functional.hill_loss,
        losses.SPLCLoss: functional.splc_loss,
        losses.ZLPRLoss: functional.zlpr_loss,
        losses.TwoWayLoss: functional.two_way_loss,
        losses.SoftTopKLoss: functional.soft_top_k_loss,
        losses.SigmoidF1Loss: functional.sigmoid_f1_loss,
        losses.UnboundedF1Loss: functional.unbounded_f1_loss,
        losses.ConfusionLoss: functional.confusion_loss,
    }
    for module, twin in twins.items():
        assert torch.equal(twin(logits, targets), module()(logits, targets))


@pytest.mark.parametrize("n_threads", [*(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2)), 3])
@pytest.mark.parametrize("masked", [False, True], ids=["all known", "masked"])
@pytest.mark.parametrize("name", [*COMPILED, "mcc", "balanced-accuracy", "jaccard, weighted"])
def test_wide_and_long_batches_are_those_of_double_precision_on_any_number_of_threads(name, masked, n_threads):
    torch.manual_seed(0)
    logits, lists = 3 * torch.randn(300, 4500) - 4, [[i, i + 600, 4499] for i in range(300)]
    dense = torch.zeros(300, 4500)
    for row, labels in zip(dense, lists, strict=True):
        row[labels] = 1
    options = {"mask": torch.rand(300, 4500) < 0.7} if masked else {}
    loss, before = EVERY_LOSS[name](), torch.get_num_threads()
    expected, slope = value_and_gradient(loss, logits.double(), dense, **options)
    torch.set_num_threads(n_threads)
    try:
        for targets in (dense, lists):
            value, gradient = value_and_gradient(loss, logits, targets, **options)
            assert value.item() == pytest.approx(expected.item(), rel=1e-5)
            torch.testing.assert_close(gradient.double(), slope, atol=1e-6 * slope.abs().max().item(), rtol=1e-5)
    finally:
        torch.set_num_threads(before)


class LargeTensors(TorchDispatchMode):
    """Counts the new tensors with at least this many elements."""

    def __init__(self, size):
        super().__init__()
        self.size, self.made = size, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        old = {a.untyped_storage().data_ptr() for a in args if isinstance(a, torch.Tensor)}
        if isinstance(out, torch.Tensor) and out.numel() >= self.size:
            self.made += out.untyped_storage().data_ptr() not in old
        return out


@pytest.mark.parametrize("masked", [False, True], ids=["all known", "masked"])
@pytest.mark.parametrize("n_labels", [300, 1000])  # one thread in one call, and more
@pytest.mark.parametrize("name", COMPILED)
def test_index_targets_are_never_made_dense_and_the_gradient_is_all_that_is_stored(name, n_labels, masked):
    loss = EVERY_LOSS[name]()
    logits = torch.randn(40, n_labels, requires_grad=True)
    targets = [[i, i + 7] for i in range(40)]
    options = {"mask": torch.rand(40, n_labels) < 0.7} if masked else {}
    with LargeTensors(logits.numel()) as seen:
        loss(logits, targets, **options).backward()
    assert seen.made == 1
    with LargeTensors(logits.numel()) as seen, torch.no_grad():
        loss(logits, targets, **options)
    assert seen.made == 0


def test_the_slope_moves_where_the_loss_looks():
    z = torch.tensor([[0.5], [-0.5]])
    y = torch.tensor([[1.0], [0.0]])
    values = [SigmoidF1Loss(beta)(z, y).item() for beta in (1.0, 4.0, 16.0)]
    assert values == sorted(values, reverse=True)
