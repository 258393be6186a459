"""Heads compute what their matrices say, in every precision and by every path, and begin where they should."""

import io
import math

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

from labelproof.heads import BottleneckHead, CodeHead, DFTHead, HarmonicHead, VandermondeHead, start_at, transform
from labelproof.theory.cyclic import minor_signs
from labelproof.theory.dft import dft_matrix, vandermonde_matrix

HEADS = {
    "bottleneck": lambda **kw: BottleneckHead(40, 60, 7, **kw),
    "bottleneck with bias": lambda **kw: BottleneckHead(40, 60, 7, bias=True, **kw),
    "dft": lambda **kw: DFTHead(40, 60, 5, 4, **kw),
    "dft without slack": lambda **kw: DFTHead(40, 60, 5, 0, path="fft", **kw),
    "dft in another order": lambda **kw: DFTHead(40, 60, 5, 4, order=np.arange(60)[::-1], path="fft", **kw),
    "dft by two products": lambda **kw: DFTHead(40, 60, 19, 0, order=np.arange(60)[::-1], path="split", **kw),
    "dft by a product": lambda **kw: DFTHead(40, 60, 5, 4, path="dense", **kw),
    "dft on the paper's grid": lambda **kw: DFTHead(40, 59, 5, 4, nodes="paper", path="fft", **kw),
    "dft with learned nodes": lambda **kw: DFTHead(40, 60, 5, 4, nodes="learned", **kw),
    "code": lambda **kw: CodeHead(40, 60, 2, 4, **kw),
    "code without slack": lambda **kw: CodeHead(40, 60, 2, 0, budget=39, **kw),
    "vandermonde": lambda **kw: VandermondeHead(40, 60, 5, 4, **kw),
}
every_head = pytest.mark.parametrize("make", HEADS.values(), ids=HEADS.keys())


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def expected_logits(head, e):
    bias = 0.0 if head.bias is None else head.bias
    return head.projection(e) @ head.weight.T + bias


@every_head
@pytest.mark.parametrize("leading", [(), (3,), (2, 3), (0,), (2, 0, 3)])
def test_logits_are_the_projection_times_the_weight(make, leading):
    head = make(dtype=torch.float64)
    e = torch.randn(*leading, 40, dtype=torch.float64)
    assert torch.allclose(head(e), expected_logits(head, e), atol=1e-12)
    assert head(e).shape == (*leading, head.n_labels)


@every_head
def test_gradients_are_those_of_the_matrix_product(make):
    head = make(dtype=torch.float64)
    e = torch.randn(3, 40, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn(3, head.n_labels, dtype=torch.float64)
    leaves = [e, *head.parameters()]
    ours = torch.autograd.grad((head(e) * upstream).sum(), leaves)
    theirs = torch.autograd.grad((expected_logits(head, e) * upstream).sum(), leaves)
    for got, wanted in zip(ours, theirs, strict=True):
        assert torch.allclose(got, wanted, atol=1e-10)


@every_head
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.05), (torch.float16, 0.01)])
def test_other_precisions_give_the_same_logits_to_their_own_accuracy(make, dtype, tolerance):
    head = make().to(dtype)
    x = torch.randn(4, head.projection.out_features).to(dtype)
    exact = x.double() @ head.weight.double().T + (0.0 if head.bias is None else head.bias.double())
    z = head.logits(x)
    assert z.dtype == dtype
    assert (z.double() - exact).abs().max() <= tolerance * exact.abs().max()


@every_head
def test_a_state_dict_restores_the_same_logits(make):
    head, other = make(), make()
    file = io.BytesIO()
    torch.save(head.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    e = torch.randn(2, 40)
    assert torch.equal(head(e), other(e))


def test_the_order_travels_with_the_state_dict():
    places = np.random.default_rng(0).permutation(60)
    head = DFTHead(40, 60, 5, 4, order=places, path="dense")
    other = DFTHead(40, 60, 5, 4, order=np.arange(60), path="fft")
    other.load_state_dict(head.state_dict())
    e = torch.randn(2, 40)
    assert torch.allclose(head(e), other(e), atol=1e-5)


def test_an_order_can_be_loaded_into_a_head_that_was_made_without():
    head = DFTHead(40, 60, 5, 4, order=np.arange(60)[::-1])
    other = DFTHead(40, 60, 5, 4, path="fft")
    other.load_state_dict(head.state_dict())
    x = torch.randn(2, 15)
    assert torch.allclose(other.logits(x), x @ head.weight.T, atol=1e-5)


@pytest.mark.parametrize("other", [{"nodes": "paper"}, {"scale": 2.0}])
def test_weights_of_a_head_with_other_columns_are_refused(other):
    head = DFTHead(40, 59, 5, 4, **other)
    with pytest.raises(RuntimeError, match=r"grid: expected a DFT head of 60 nodes, scale 1\.0, got one of"):
        DFTHead(40, 59, 5, 4).load_state_dict(head.state_dict())


@every_head
def test_a_head_compiles_in_one_graph(make):
    torch.compiler.reset()  # all heads share a forward, and torch compiles it for eight of them at most
    head = make()
    compiled = torch.compile(head, backend="aot_eager", fullgraph=True)
    e = torch.randn(5, 40)
    assert torch.allclose(compiled(e), head(e), atol=1e-5)
    compiled(e).sum().backward()
    assert head.projection.weight.grad is not None


@every_head
def test_a_head_can_be_exported(make):
    head = make()
    e = torch.randn(5, 40)
    exported = torch.export.export(head, (e,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    other = torch.randn(3, 40)
    assert torch.allclose(exported.module()(other), head(other), atol=1e-5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the exporter's own imports
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", ["dft in another order", "code"])
def test_a_head_runs_in_onnxruntime(name, tmp_path):
    head = HEADS[name]().eval()
    e = torch.randn(3, 40)
    torch.onnx.export(head, (e,), tmp_path / "head.onnx", dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession(tmp_path / "head.onnx", providers=["CPUExecutionProvider"])
    (z,) = session.run(None, {session.get_inputs()[0].name: e.numpy()})
    assert np.allclose(z, head(e).detach().numpy(), atol=1e-5)


@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
@every_head
def test_a_head_can_be_traced(make):
    head = make()
    traced = torch.jit.trace(head, torch.randn(5, 40))
    e = torch.randn(3, 40)
    assert torch.allclose(traced(e), head(e), atol=1e-5)


@pytest.mark.parametrize(("n", "k"), [(3, 1), (7, 3), (50, 2), (97, 20), (128, 63), (211, 7), (1000, 10), (8921, 80)])
@pytest.mark.parametrize("nodes", ["fast", "paper"])
def test_the_transform_equals_the_matrix(n, k, nodes):
    head = DFTHead(2 * k + 1, n, k, 0, nodes=nodes, path="fft", dtype=torch.float64)
    x = torch.randn(2, 2 * k + 1, dtype=torch.float64)
    assert torch.allclose(head.logits(x), x @ head.weight.T, atol=1e-12)


@pytest.mark.parametrize(("n", "k"), [(97, 20), (128, 63), (211, 17), (250, 24), (8921, 80)])
def test_two_small_products_equal_the_matrix(n, k):
    head = DFTHead(2 * k + 1, n, k, 0, path="split", scale=4.0, dtype=torch.float64)
    x = torch.randn(2, 3, 2 * k + 1, dtype=torch.float64)
    assert torch.allclose(head.logits(x), x @ head.weight.T, atol=1e-12)


def test_a_head_whose_nodes_or_frequencies_cannot_be_split_says_so():
    with pytest.raises(ValueError, match="path must be another for 21 columns at 97 nodes, got 'split'"):
        DFTHead(40, 97, 10, 0, nodes="paper", path="split")
    with pytest.raises(ValueError, match="path must be another for 61 columns at 200 nodes, got 'split'"):
        HarmonicHead(70, 199, 10, 0, random=20, nodes="fast", path="split")


def test_the_paper_grid_gives_the_papers_matrix():
    head = DFTHead(11, 30, 5, 0, nodes="paper", scale=1.0, dtype=torch.float64)
    assert np.array_equal(head.weight.numpy(), dft_matrix(30, 5))


def test_every_label_has_its_place_on_the_circle():
    places = np.random.default_rng(1).permutation(30)
    head = DFTHead(11, 30, 5, 0, nodes="paper", order=places, scale=1.0, dtype=torch.float64)
    assert np.array_equal(head.weight.numpy(), dft_matrix(30, 5)[places])


def test_nodes_of_the_fast_grid_keep_all_minors_of_one_sign():
    head = DFTHead(5, 11, 2, 0, dtype=torch.float64)
    assert head.n_nodes == 12
    assert minor_signs(head.weight.numpy()) == 1


def test_learned_nodes_stay_in_gr_plus_and_begin_on_the_papers_grid():
    head = DFTHead(5, 11, 2, 0, nodes="learned", scale=1.0, dtype=torch.float64)
    assert np.allclose(head.weight.detach().numpy(), dft_matrix(11, 2), atol=1e-12)
    nn.init.normal_(head.node_steps, std=2.0)
    angles = head.angles()
    assert (angles.diff() > 0).all()
    assert angles[0] >= 0
    assert angles[-1] < 2 * math.pi
    assert minor_signs(head.weight.detach().numpy()) == 1


def test_the_vandermonde_head_has_the_polynomials():
    assert np.array_equal(
        VandermondeHead(5, 9, 2, 0, dtype=torch.float64).weight.numpy(), vandermonde_matrix(9, 2 * 2 + 1)
    )


def test_fixed_columns_are_no_parameters_and_keep_float32():
    head = DFTHead(40, 60, 5, 4).half()
    assert head.columns.dtype == torch.float32
    assert {name for name, _ in head.named_parameters()} == {"projection.weight", "projection.bias", "slack_weight"}
    assert torch.equal(head.double().columns, DFTHead(40, 60, 5, 4, dtype=torch.float64).columns)


@pytest.mark.parametrize(("n", "k"), [(60, 5), (2689, 25), (983, 25), (8921, 80), (21, 10)])
def test_rows_have_a_norm_of_about_one_half_by_default_and_of_one_with_random_frequencies_or_more_as_published(n, k):
    for head, wanted in ((DFTHead(999, n, k, 0), 0.5), (HarmonicHead(999, n, k, 0), 1.0)):
        norm = float(head.weight.norm(dim=1).mean())
        assert math.frexp(head.scale)[0] == 0.5
        assert wanted / 1.5 < norm < wanted * 1.5 or (head.scale == 1 and norm > wanted)


def test_scaled_columns_give_scaled_logits_and_the_same_start():
    plain, scaled = DFTHead(11, 60, 5, 0, scale=1.0, path="fft"), DFTHead(11, 60, 5, 0, scale=4.0, path="fft")
    assert torch.allclose(4 * plain.weight, scaled.weight)
    x = torch.randn(3, 11)
    assert torch.allclose(scaled.logits(x), x @ scaled.weight.T, atol=1e-5)
    assert torch.allclose(scaled.projection.bias * 4, plain.projection.bias)


@pytest.mark.parametrize(
    "head",
    [
        BottleneckHead(40, 60, 7, start=3),
        BottleneckHead(40, 60, 7, bias=True, start=3),
        DFTHead(40, 60, 3, 4),
        DFTHead(40, 60, 5, 4, start=3, scale=8.0),
        DFTHead(40, 60, 3, 4, nodes="learned"),
        VandermondeHead(40, 60, 3, 4),
        CodeHead(60, 60, 3, 4),
        CodeHead(40, 60, 2, 4, start=3, scale=8.0),
    ],
)
def test_every_label_starts_at_k_of_n(head):
    assert torch.allclose(head(torch.zeros(head.in_features)).sigmoid(), torch.full((60,), 3 / 60), atol=1e-4)


def test_all_other_biases_start_at_zero():
    assert DFTHead(40, 60, 5, 4).projection.bias.count_nonzero() == 1


def test_any_linear_layer_can_start_at_k_of_n():
    layer = nn.Linear(4, 50)
    start_at(layer, 5)
    assert torch.allclose(layer.bias.sigmoid(), torch.full((50,), 0.1))


def test_automatic_paths_agree_with_each_other():
    head = DFTHead(40, 2000, 15, 9)
    e = torch.randn(8, 40)
    measured = head(e)
    for path in ("fft", "split", "dense"):
        head.path = path
        assert torch.allclose(head(e), measured, atol=1e-4)


def test_small_heads_take_a_path_without_timing(monkeypatch):
    monkeypatch.setattr(transform, "_timed", lambda *_: pytest.fail("it was timed"))
    assert DFTHead(11, 24, 5, 0)._path_for(torch.zeros(32, 11)) == "dense"
    with pytest.raises(pytest.fail.Exception, match="it was timed"):
        DFTHead(161, 8921, 80, 0)._path_for(torch.zeros(32, 161))


def test_deterministic_runs_take_a_path_by_counting(monkeypatch):
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: True)
    assert DFTHead(161, 8921, 80, 0)._path_for(torch.zeros(32, 161)) == "fft"
    assert DFTHead(31, 2000, 15, 0)._path_for(torch.zeros(32, 31)) == "dense"


def test_mixed_precision_gives_finite_gradients():
    head = DFTHead(40, 60, 5, 4, path="fft")
    with torch.autocast("cpu", torch.bfloat16):
        loss = nn.functional.binary_cross_entropy_with_logits(head(torch.randn(3, 40)).float(), torch.ones(3, 60))
    loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in head.parameters())


def test_an_encoder_narrower_than_the_head_is_pointed_out():
    with pytest.warns(UserWarning, match="the head has 15 features but the encoder only 8"):
        DFTHead(8, 60, 5, 4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DFTHead(40, 10, 5, 0), r"k must be at most \(n_labels - 1\) / 2 for n_labels = 10, got 5"),
        (lambda: DFTHead(40, 10, 0, 0), "k must be"),
        (lambda: DFTHead(40, 10, 2, -1), "slack must be"),
        (lambda: DFTHead(0, 10, 2, 0), "in_features must be"),
        (
            lambda: DFTHead(40, 10, 2, 0, order=[0, 1]),
            r"order must hold one place for each of 10 labels, got int64 \(2,\)",
        ),
        (lambda: DFTHead(40, 10, 2, 0, order=[0] * 10), "order must hold every place from 0 to 9 once, got others"),
        (lambda: DFTHead(40, 10, 2, 0, nodes="slow"), "nodes must be one of 'fast', 'paper', 'learned', got 'slow'"),
        (lambda: DFTHead(40, 10, 2, 0, path="gpu"), "path must be"),
        (lambda: DFTHead(40, 10, 2, 0, nodes="learned", path="fft"), "path must be"),
        (lambda: DFTHead(40, 10, 2, 0, nodes="learned", path="split"), "path must be"),
        (lambda: DFTHead(40, 10, 2, 0, scale=0.0), "scale must be a positive number, got 0.0"),
        (
            lambda: DFTHead(40, 10, 2, 0, start=10),
            "start must be a number of labels between 0 and n_labels = 10, got 10",
        ),
        (lambda: BottleneckHead(40, 10, 0), "d must be"),
        (lambda: BottleneckHead(40, 10, 3, start=0), "start must be"),
        (lambda: start_at(nn.Linear(3, 4, bias=False), 2), "layer must be a torch.nn.Linear with a bias"),
    ],
)
def test_a_wrong_argument_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(("path", "k"), [("fft", 6), ("split", 26)])
def test_the_fft_can_be_used_without_gradients_first_and_with_them_later(path, k):
    """What it keeps from the first call must serve the second; the size occurs nowhere else."""
    head = DFTHead(2 * k + 1, 61, k, 0, path=path)
    x = torch.randn(3, 2 * k + 1)
    with torch.inference_mode():
        first = head.logits(x)
    x.requires_grad_()
    head.logits(x).sum().backward()
    torch.testing.assert_close(head.logits(x), first)
    torch.testing.assert_close(x.grad, head.weight.sum(0).expand(3, -1), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("path", "k"), [("fft", 6), ("split", 26)])
def test_the_fft_can_be_mapped_and_differentiated_row_by_row(path, k):
    head = DFTHead(2 * k + 1, 61, k, 0, path=path).double()
    x = torch.randn(3, 2 * k + 1, dtype=torch.float64)
    torch.testing.assert_close(torch.vmap(head.logits)(x), head.logits(x))
    jacobian = torch.func.jacrev(head.logits)(x[0])
    torch.testing.assert_close(jacobian, head.weight)
