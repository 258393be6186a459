"""Encoder, head and loss as a LightningModule."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
import torch
from lightning.pytorch import LightningModule
from scipy.special import expit
from torch import Tensor, nn

from labelproof.decisions import Rule
from labelproof.encoders import Encoder
from labelproof.metrics import by_name
from labelproof.training.batches import Batch
from labelproof.training.config import TrainerConfig
from labelproof.training.heads import Head
from labelproof.training.scoring import spread_rows

__all__ = ["TrainingModule"]

MOST_SCORES = 10**7  # validation logits that are kept for the metrics of an epoch


class TrainingModule(LightningModule):
    """What Lightning trains.

    Parameters
    ----------
    encoder, head, loss
        Which are trained together, the loss too where it has parameters.
    rule
        Decision rule for set metrics. It is fitted to the validation logits after each epoch.
    config
        Learning rates, schedule, seed, and the metrics to compute.
    n_labels
        Number of labels.

    Attributes
    ----------
    keeps_optimizer
        Whether the next run goes on with the optimizer of this one.
    """

    optimizer: torch.optim.Optimizer | None

    def __init__(
        self, encoder: Encoder, head: Head, loss: nn.Module, rule: Rule, config: TrainerConfig, n_labels: int
    ) -> None:
        super().__init__()
        self.encoder, self.head, self.loss = encoder, head, loss
        self.rule, self.config, self.n_labels = rule, config, n_labels
        if not _fits(config.monitor, n_labels):
            raise ValueError(
                f"trainer.monitor must be a metric at no more than {n_labels} labels, got {config.monitor}"
            )
        names = dict.fromkeys([*config.metrics, config.monitor])
        self.metric_names = [name for name in names if name != "loss" and _fits(name, n_labels)]
        self.keeps_optimizer, self.optimizer = False, None
        self._train_loss = _Mean()
        self._validation_loss = _Mean()
        self._kept: list[tuple[npt.NDArray[Any], Any]] = []

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return the logits (n, n_labels) of a collated batch."""
        return self.head(self.encoder(*inputs))

    def on_train_batch_start(self, _batch: Batch, index: int) -> None:
        """Let all randomness of an epoch depend on the seed and its number, so that it can be repeated.

        Lightning skips ``on_train_epoch_start`` in the first epoch of a run that is resumed.
        """
        if index == 0:
            words = [self.config.seed, self.current_epoch, self.global_rank]
            torch.manual_seed(int(np.random.SeedSequence(words).generate_state(1)[0]))
            self._train_loss = _Mean()

    def training_step(self, batch: Batch, _index: int) -> Tensor:
        """Return the loss of a batch."""
        loss = self.loss(self(*batch.inputs), batch.targets(self.n_labels))
        self._train_loss.add(loss.detach(), len(batch.indptr) - 1)
        return loss

    def on_train_start(self) -> None:
        """Let a loss that is no mean over examples see the batch of all devices."""
        self._share_batches(self.trainer.world_size > 1)

    def on_train_end(self) -> None:
        """Leave the loss to itself."""
        self._share_batches(False)

    def on_validation_epoch_start(self) -> None:
        """Forget the last epoch; every device validates on all examples."""
        self._share_batches(False)
        self._validation_loss, self._kept = _Mean(), []

    def validation_step(self, batch: Batch, _index: int) -> None:
        """Add a batch to the loss, and keep of its logits for the metrics what there is room for."""
        logits = self(*batch.inputs)
        self._validation_loss.add(self.loss(logits, batch.targets(self.n_labels)), len(logits))
        if self.metric_names:
            room = MOST_SCORES // int(self.trainer.num_val_batches[0])
            rows = spread_rows(len(logits), self.n_labels, room)
            scores = logits[rows].to(torch.promote_types(logits.dtype, torch.float32))
            self._kept.append((scores.cpu().numpy(), batch.labels(self.n_labels)[rows]))

    def on_validation_epoch_end(self) -> None:
        """Log the loss and the metrics of the epoch."""
        values = {"loss": self._validation_loss.value()}
        if self.metric_names:
            values |= self._metrics()
        self._kept = []
        self.log_dict(values)
        self._share_batches(self.trainer.world_size > 1)

    def train_loss(self) -> float:
        """Return the mean loss of the epoch so far, over the examples of all devices."""
        if self.trainer.world_size == 1:
            return self._train_loss.value()
        here = torch.tensor([float(self._train_loss.total), self._train_loss.n], device=self.device)
        everywhere = torch.as_tensor(self.all_gather(here))
        total, n = everywhere.reshape(-1, 2).double().sum(0).tolist()
        return float(total) / max(1, n)

    def configure_optimizers(self) -> Any:
        """Return AdamW with a schedule; pretrained parameters have a learning rate of their own."""
        config = self.config
        if self.optimizer is not None:
            return self.optimizer
        # losses are means over labels: their gradients are smaller by so much than those of one label's loss
        # the fused step is several times as fast; with 16-mixed it would not let gradients be clipped
        fused = config.precision != "16-mixed"
        optimizer = torch.optim.AdamW(self._groups(), lr=config.lr, eps=1e-8 / self.n_labels, fused=fused)
        self.optimizer = optimizer if self.keeps_optimizer else None
        if config.schedule == "constant" and not config.warmup:
            return optimizer
        total = max(1, int(self.trainer.estimated_stepping_batches))
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: lr_factor((step + 0.5) / total, config.schedule, config.warmup)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _share_batches(self, shared: bool) -> None:
        if hasattr(self.loss, "process_group"):
            setattr(self.loss, "process_group", torch.distributed.group.WORLD if shared else None)  # noqa: B010 - typed

    def _groups(self) -> list[dict[str, Any]]:
        """Return the parameters by learning rate and weight decay: biases, and vectors at large, do not decay."""
        config = self.config
        pretrained = {id(parameter) for parameter in self.encoder.pretrained_parameters()}
        groups: dict[tuple[float, float], list[nn.Parameter]] = {}
        for parameter in self.parameters():
            if parameter.requires_grad:
                lr = config.encoder_lr or config.lr if id(parameter) in pretrained else config.lr
                decay = config.weight_decay if parameter.ndim > 1 else 0.0
                groups.setdefault((lr, decay), []).append(parameter)
        return [{"params": group, "lr": lr, "weight_decay": decay} for (lr, decay), group in groups.items()]

    def _metrics(self) -> dict[str, float]:
        logits = np.concatenate([kept for kept, _ in self._kept])
        if not np.isfinite(logits).all():  # training diverges: it goes back to an epoch before, or says so at its end
            return dict.fromkeys(self.metric_names, math.nan)
        truth = scipy.sparse.vstack([labels for _, labels in self._kept], format="csr")
        metrics = [by_name(name) for name in self.metric_names]
        kinds = {metric.kind for metric in metrics}
        seen = {
            "ranking": logits,
            "probability": expit(logits) if "probability" in kinds else None,
            "set": self.rule.fit(truth, logits).decide(logits) if "set" in kinds else None,
        }
        return {metric.name: metric(truth, seen[metric.kind]) for metric in metrics}


def lr_factor(progress: float, schedule: str, warmup: float) -> float:
    """Return by what the learning rate is multiplied after this share of the steps.

    >>> [lr_factor(p, "linear", 0.5) for p in (0.25, 0.5, 0.75)], lr_factor(0.5, "cosine", 0.0)
    ([0.5, 1.0, 0.5], 0.5)
    """
    if progress < warmup:
        return progress / warmup
    rest = min(1.0, (progress - warmup) / (1 - warmup))
    return {"constant": 1.0, "linear": 1 - rest, "cosine": round((1 + math.cos(math.pi * rest)) / 2, 12)}[schedule]


def _fits(name: str, n_labels: int) -> bool:
    """Return whether a metric at k has k labels to choose from."""
    return "@" not in name or int(name.split("@")[1]) <= n_labels


class _Mean:
    """The mean of the losses of batches, weighted by their examples; on the device until it is asked for."""

    def __init__(self) -> None:
        self.total: Tensor | float = 0.0
        self.n = 0

    def add(self, value: Tensor, n: int) -> None:
        self.total = self.total + value.double() * n
        self.n += n

    def value(self) -> float:
        return float(self.total) / max(1, self.n)
