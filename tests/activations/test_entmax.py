"""Sparsemax and α-entmax in torch: values, gradients, dtypes, layouts, transforms and bad input."""

import threading

import entmax as peer
import numpy as np
import pytest
import torch

from labelproof import simplex
from labelproof.activations import Entmax, Sparsemax, entmax, sparsemax
from labelproof.activations.on_any_device import TorchEntmax

ALPHAS = [1.0, 1.2, 1.5, 2.0, 3.0]
PATHS = {
    "kernel": entmax,
    "torch": lambda z, alpha=1.5, dim=-1: TorchEntmax.apply(z.movedim(dim, -1), alpha).movedim(-1, dim),
}


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("scale", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("n_labels", [5, 400, 3000])
def test_the_values_and_gradients_are_those_of_the_entmax_package(n_labels, scale):
    z = (scale * normal(6, n_labels)).requires_grad_()
    weight = normal(6, n_labels, seed=1)
    for ours, theirs in ((sparsemax, peer.sparsemax), (entmax, peer.entmax15)):
        p, q = ours(z), theirs(z, dim=-1)
        torch.testing.assert_close(p, q, atol=1e-10, rtol=0)
        (g,) = torch.autograd.grad((p * weight).sum(), z)
        (h,) = torch.autograd.grad((q * weight).sum(), z)
        torch.testing.assert_close(g, h, atol=1e-7, rtol=0)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("alpha", ALPHAS[1:])
@pytest.mark.parametrize("n_labels", [1, 7, 500])
def test_both_paths_equal_the_numpy_function(path, alpha, n_labels):
    z = normal(4, 3, n_labels)
    expected = torch.from_numpy(simplex.entmax(z.numpy(), alpha))
    torch.testing.assert_close(PATHS[path](z, alpha), expected, atol=1e-11, rtol=0)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("alpha", ALPHAS[1:])
@pytest.mark.parametrize("n_labels", [6, 300])
def test_first_and_second_derivatives_are_right(path, alpha, n_labels):
    z = (0.3 * normal(2, n_labels)).requires_grad_()

    def head(x):
        return PATHS[path](torch.cat([x, z.detach()[:, 4:]], dim=-1), alpha)[:, :6]

    x = z.detach()[:, :4].clone().requires_grad_()
    assert torch.autograd.gradcheck(head, (x,))
    assert torch.autograd.gradgradcheck(head, (x,))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # torch's forward mode
def test_forward_mode_and_batched_gradients_are_right():
    z = normal(3, 6).requires_grad_()
    assert torch.autograd.gradcheck(entmax, (z,), check_forward_ad=True, check_batched_grad=True)


@pytest.mark.parametrize("alpha", [1.5, 2.0])
@pytest.mark.parametrize("scale", [0.001, 1.0])
def test_the_kernels_gradient_is_the_torch_gradient_for_long_rows(alpha, scale):
    """At the small scale the support exceeds the listed indices, and the backward pass reads the whole row."""
    z = (scale * normal(3, 9000, dtype=torch.float32)).requires_grad_()
    weight = normal(3, 9000, seed=1, dtype=torch.float32)
    (g,) = torch.autograd.grad((entmax(z, alpha) * weight).sum(), z)
    (h,) = torch.autograd.grad((TorchEntmax.apply(z.double(), alpha) * weight).sum(), z)
    torch.testing.assert_close(g, h, atol=1e-5, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # from inside torch's tracer
@pytest.mark.parametrize("alpha", [2.0, 2.5])
def test_a_compiled_function_has_one_graph_and_the_same_values(alpha):
    z = normal(4, 9).requires_grad_()
    compiled = torch.compile(lambda x: entmax(x, alpha, dim=0), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(z), entmax(z, alpha, dim=0), atol=1e-10, rtol=0)
    (g,) = torch.autograd.grad(compiled(z).square().sum(), z)
    (h,) = torch.autograd.grad(entmax(z, alpha, dim=0).square().sum(), z)
    torch.testing.assert_close(g, h, atol=1e-10, rtol=0)


def test_an_exported_program_has_the_same_values():
    z = normal(4, 9, dtype=torch.float32)
    program = torch.export.export(Sparsemax(), (z,))
    torch.testing.assert_close(program.module()(z), sparsemax(z))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # torch's forward mode
def test_vmap_grad_and_hessian_go_through():
    z = normal(4, 5, 6)
    torch.testing.assert_close(torch.vmap(sparsemax, in_dims=1)(z), sparsemax(z.movedim(1, 0)))

    def energy(row):
        return entmax(row).square().sum()

    rows = z.reshape(-1, 6).requires_grad_()
    (expected,) = torch.autograd.grad(entmax(rows).square().sum(), rows)
    torch.testing.assert_close(torch.vmap(torch.func.grad(energy))(rows.detach()), expected)
    hessian = torch.func.hessian(energy)(z[0, 0])
    torch.testing.assert_close(hessian, torch.autograd.functional.hessian(energy, z[0, 0]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [0.01, 1.0, 5.0])
@pytest.mark.parametrize("alpha", [1.3, 1.5, 2.0])
def test_half_precision_is_the_exact_result_rounded_once(dtype, scale, alpha):
    """The entmax package sums in half precision, and its rows sum to 0.96 or less."""
    z = (scale * normal(8, 1000, dtype=torch.float32)).to(dtype).requires_grad_()
    p = entmax(z, alpha)
    assert p.dtype == dtype
    assert torch.equal(p, entmax(z.float(), alpha).to(dtype))
    epsilon = torch.finfo(dtype).eps
    assert (p.double().sum(-1) - 1).abs().max() <= epsilon
    (g,) = torch.autograd.grad(p.square().sum(), z)
    assert g.dtype == dtype
    assert g.isfinite().all()


def test_the_sum_of_a_long_single_precision_row_is_one():
    for scale in (1e-4, 1.0, 30.0):
        z = scale * normal(4, 100_000, dtype=torch.float32)
        assert (sparsemax(z).double().sum(-1) - 1).abs().max() < 2e-7
        assert (entmax(z).double().sum(-1) - 1).abs().max() < 2e-7


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("alpha", ALPHAS[1:])
def test_masked_scores_are_exact_zeros_with_gradient_zero(path, alpha):
    z = normal(5, 400)
    mask = torch.rand(5, 400, generator=torch.Generator().manual_seed(2)) < 0.7
    z = z.masked_fill(mask, -torch.inf).requires_grad_()
    p = PATHS[path](z, alpha)
    assert (p[mask] == 0).all()
    (g,) = torch.autograd.grad(p.square().sum(), z)
    assert (g[mask] == 0).all()
    assert g.isfinite().all()
    torch.testing.assert_close(p.sum(-1), torch.ones(5, dtype=torch.float64))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n_labels", [4, 600])
def test_hopeless_rows_are_nan_as_for_softmax_and_spare_their_neighbours(path, alpha, n_labels):
    if path == "torch" and alpha == 1:
        path = "kernel"  # α = 1 is torch's own softmax on every device
    z = normal(5, n_labels)
    z[1] = -torch.inf
    z[2, 1] = torch.nan
    z[3, -1] = torch.inf
    z.requires_grad_()
    p = PATHS[path](z, alpha)
    assert torch.equal(p.isnan().all(-1), torch.tensor([False, True, True, True, False]))
    assert torch.equal(p.isnan().any(-1), p.isnan().all(-1))
    (g,) = torch.autograd.grad(p.square().sum(), z)
    assert g[[0, 4]].isfinite().all()
    assert g[1:4].isnan().any(-1).all()


def test_any_dim_and_layout_gives_the_same_numbers():
    z = normal(3, 4, 5, 300)
    for dim in (-4, -2, 0, 1, 3):
        expected = sparsemax(z.movedim(dim, -1).contiguous()).movedim(-1, dim)
        torch.testing.assert_close(sparsemax(z, dim), expected)
    strided = z[:, ::2, 1:4, ::3]
    torch.testing.assert_close(sparsemax(strided), sparsemax(strided.clone()))
    expanded = z[0, 0, 0].expand(6, 300).requires_grad_()
    (g,) = torch.autograd.grad(sparsemax(expanded)[:, 0].sum(), expanded)
    assert g.shape == (6, 300)
    (g,) = torch.autograd.grad(sparsemax(expanded).sum(), expanded)
    torch.testing.assert_close(g, torch.zeros_like(g))


def test_empty_batches_pass_through():
    z = torch.empty(0, 3, 5, requires_grad=True)
    sparsemax(z).sum().backward()
    assert z.grad is not None
    assert z.grad.shape == (0, 3, 5)


def test_a_second_backward_pass_gives_the_same_gradient():
    z = normal(4, 1000).requires_grad_()
    p = sparsemax(z)
    (first,) = torch.autograd.grad(p[:, 0].sum(), z, retain_graph=True)
    (second,) = torch.autograd.grad(p[:, 0].sum(), z)
    assert torch.equal(first, second)


def test_an_in_place_change_of_the_result_is_noticed():
    z = normal(4, 5).requires_grad_()
    p = sparsemax(z)
    p.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        p.sum().backward()


def test_threads_that_call_at_once_get_their_own_results():
    z = [normal(200, 3000, seed=seed, dtype=torch.float32) for seed in range(4)]
    expected = [sparsemax(x) for x in z]
    found = [None] * 4
    workers = [threading.Thread(target=lambda i=i: found.__setitem__(i, sparsemax(z[i]))) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))


def test_a_meta_tensor_gives_a_meta_tensor():
    assert sparsemax(torch.empty(3, 4, device="meta")).shape == (3, 4)


def test_the_modules_call_the_functions_and_print_their_arguments():
    z = normal(3, 4)
    assert torch.equal(Sparsemax(0)(z), sparsemax(z, 0))
    assert torch.equal(Entmax(1.3, 0)(z), entmax(z, 1.3, 0))
    assert repr(Entmax(1.3)) == "Entmax(alpha=1.3, dim=-1)"
    assert repr(Sparsemax()) == "Sparsemax(dim=-1)"


def test_bad_input_is_refused_in_one_sentence():
    z = normal(3, 4)
    with pytest.raises(ValueError, match=r"alpha must be a finite number of at least 1, got 0\.5"):
        entmax(z, 0.5)
    with pytest.raises(ValueError, match="alpha must be a finite number of at least 1, got nan"):
        Entmax(np.nan)
    with pytest.raises(ValueError, match=r"alpha must be a finite number of at least 1, got tensor"):
        entmax(z, torch.tensor(1.5))
    with pytest.raises(ValueError, match="dim must be one of the 2 dimensions of input, got 2"):
        sparsemax(z, 2)
    with pytest.raises(ValueError, match=r"at least one score along dim 1, got shape \(3, 0\)"):
        sparsemax(torch.empty(3, 0), 1)
    with pytest.raises(ValueError, match=r"input must be a floating-point tensor, got torch.int64"):
        sparsemax(torch.ones(3, dtype=torch.int64))
