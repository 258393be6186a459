"""A head trains under DistributedDataParallel as it does in one process."""

import os
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

from labelproof.heads import CodeHead, DFTHead


def make_head(kind):
    torch.manual_seed(0)
    return DFTHead(40, 60, 5, 4, path="fft") if kind == "dft" else CodeHead(40, 60, 2, 4)


def batch():
    return torch.randn(8, 40, generator=torch.Generator().manual_seed(1))


def train(rank, world_size, folder, kind):
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world_size)
    head = make_head(kind)
    parallel = DistributedDataParallel(head)  # averages the gradients as long as it lives
    parallel(batch()[rank::world_size]).square().mean().backward()
    if rank == 0:
        torch.save([parameter.grad for parameter in head.parameters()], f"{folder}/gradients")
    done = [Path(folder, f"done-{other}") for other in range(world_size)]
    done[rank].touch()
    while not all(file.exists() for file in done):
        time.sleep(0.01)
    os._exit(0)  # gloo may crash, or wait for ever, while it is taken down


@pytest.mark.parametrize("kind", ["dft", "code"])
def test_two_processes_give_the_gradients_of_one(kind, tmp_path):
    both = mp.spawn(train, (2, str(tmp_path), kind), nprocs=2, join=False)
    both.join(timeout=180)
    for process in both.processes:
        process.kill()  # where one waits for another that has died
    head = make_head(kind)
    head(batch()).square().mean().backward()
    gradients = torch.load(tmp_path / "gradients", weights_only=True)
    for parameter, gradient in zip(head.parameters(), gradients, strict=True):
        assert torch.allclose(parameter.grad, gradient, atol=1e-7)
