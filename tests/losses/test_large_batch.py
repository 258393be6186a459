"""A batch in parts, or on several processes, has the loss and the gradient of the whole batch."""

from datetime import timedelta
from itertools import starmap

import pytest
import torch
import torch.multiprocessing as mp
from loss_definitions import AVERAGES, METRICS, a_batch
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel

from labelproof.losses import ConfusionLoss, SigmoidF1Loss


def a_model():
    torch.manual_seed(0)
    return torch.nn.Linear(3, 7).double()


def features(n=24):
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def whole_batch_gradient(loss, x, y):
    model = a_model()
    value = loss(model(x), y)
    value.backward()
    return value.detach(), model.weight.grad


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("metric", METRICS)
def test_accumulated_gradients_are_those_of_the_whole_batch(metric, average):
    loss = ConfusionLoss(metric, average=average)
    x, (_, y) = features(), a_batch()
    y[:20, 0] = 0  # a label that most parts have no positive of
    expected, gradient = whole_batch_gradient(loss, x, y)
    model = a_model()
    parts = list(zip(x.split([5, 5, 14]), y.split([5, 5, 14]), strict=True))
    with torch.no_grad():
        counts = sum(loss.counts(model(a), b) for a, b in parts)
    for a, b in parts:
        value = loss(model(a), b, counts=counts)
        assert value.item() == pytest.approx(expected.item(), abs=1e-12)
        value.backward()
    torch.testing.assert_close(model.weight.grad, gradient)


def test_the_mean_of_the_parts_losses_is_another_loss():
    x, (_, y) = features(), a_batch()
    loss, model = SigmoidF1Loss(), a_model()
    parts = zip(x.split(6), y.split(6), strict=True)
    mean = torch.stack([loss(model(a), b) for a, b in parts]).mean()
    assert abs(mean - loss(model(x), y)) > 1e-3


def test_the_memory_takes_the_counts_of_a_whole_batch_once():
    logits, targets = a_batch()
    at_once, in_parts = SigmoidF1Loss(empty="memory"), SigmoidF1Loss(empty="memory")
    at_once(logits, targets)
    parts = list(zip(logits.split(6), targets.split(6), strict=True))
    counts = sum(starmap(in_parts.counts, parts))
    for z, y in parts:
        in_parts(z, y, counts=counts)
    assert in_parts.memory is None
    in_parts.remember(counts)
    torch.testing.assert_close(in_parts.memory, at_once.memory)


def test_counts_of_another_shape_are_refused():
    logits, targets = a_batch(6, 3)
    with pytest.raises(ValueError, match=r"counts must have shape \(4, 3\), got \(4,\)"):
        SigmoidF1Loss()(logits, targets, counts=torch.zeros(4))
    samples = SigmoidF1Loss(average="samples")
    with pytest.raises(ValueError, match="counts are not defined for average='samples'"):
        samples.counts(logits, targets)
    with pytest.raises(ValueError, match="counts must be None for average='samples'"):
        samples(logits, targets, counts=torch.zeros(4))


def one_process(rank, meeting, results):
    """Write what this process computes of its part of the batch into results, by average."""
    soon = timedelta(seconds=90)  # if the other process fails, this one does not wait for half an hour
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2, timeout=soon)
    try:
        x, y = features(), rare_first_label()
        mine = slice(0, 10) if rank == 0 else slice(10, 24)  # parts of different sizes
        found = {}
        for average in AVERAGES:
            loss = SigmoidF1Loss(average=average, process_group=dist.group.WORLD)
            model = DistributedDataParallel(a_model())
            value = loss(model(x[mine]), y[mine])
            value.backward()
            found[average] = value.detach(), model.module.weight.grad
        loss, model = SigmoidF1Loss(process_group=dist.group.WORLD), DistributedDataParallel(a_model())
        parts = list(zip(x[mine].split(5), y[mine].split(5), strict=True))[:2]
        with torch.no_grad():
            counts = sum(loss.counts(model.module(a), b) for a, b in parts)
        for a, b in parts:
            loss(model(a), b, counts=counts).backward()
        found["two parts each"] = None, model.module.weight.grad
        torch.save(found, results.with_suffix(".part"))
        results.with_suffix(".part").rename(results)
    finally:
        dist.destroy_process_group()


def rare_first_label():
    _, y = a_batch()
    y[10:, 0] = 0  # the second process has no positive of it
    return y


def test_two_processes_have_the_loss_and_the_gradient_of_the_whole_batch(tmp_path):
    context = mp.get_context("spawn")
    both = [context.Process(target=one_process, args=(i, tmp_path / "meeting", tmp_path / f"{i}.pt")) for i in (0, 1)]
    for process in both:
        process.start()
    for process in both:
        process.join(timeout=180)
        process.kill()  # gloo may wait for ever while it is taken down, after all is done
    assert (tmp_path / "0.pt").exists()
    assert (tmp_path / "1.pt").exists()
    x, y = features(), rare_first_label()
    for found in (torch.load(tmp_path / "0.pt"), torch.load(tmp_path / "1.pt")):
        for average in AVERAGES:
            expected, gradient = whole_batch_gradient(SigmoidF1Loss(average=average), x, y)
            assert found[average][0].item() == pytest.approx(expected.item(), abs=1e-12)
            torch.testing.assert_close(found[average][1], gradient)
        _, gradient = whole_batch_gradient(SigmoidF1Loss(), x[:20], y[:20])  # twice five examples on each process
        torch.testing.assert_close(found["two parts each"][1], gradient)
