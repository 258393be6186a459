"""Counts of a batch that is too large for one pass or one process: the counts are added up, not the losses."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:  # some builds of torch have none
    from torch.distributed import ProcessGroup

__all__ = ["pool"]


def pool(local: Tensor, total: Tensor | None, group: "ProcessGroup | None") -> Tensor:
    """Return the counts of the whole batch, with the gradient of this part of it.

    Parameters
    ----------
    local
        This process's counts of this part of the batch, with a gradient.
    total
        Counts of all parts, where they are known already.
    group
        The processes that share the batch; their counts are added up when total is not given.

    Notes
    -----
    The gradients of the parts *add up* to that of the whole batch. Processes' gradients are averaged (by
    DistributedDataParallel and its kin), so each process's is scaled by their number.
    """
    if total is None and group is None:
        return local
    if total is None:
        total = local.detach().clone()
        torch.distributed.all_reduce(total, group=group)
    elif total.shape != local.shape:
        raise ValueError(f"counts must have shape {tuple(local.shape)}, got {tuple(total.shape)}")
    share = 1 if group is None else torch.distributed.get_world_size(group)
    return total.detach() + share * (local - local.detach())
