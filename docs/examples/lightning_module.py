"""Our head, loss and metrics in a LightningModule of your own: none of our trainer is needed."""

import numpy as np
import torch
from lightning.pytorch import LightningModule, Trainer
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import labelproof as lp
from labelproof.decisions import PerLabelThreshold
from labelproof.losses import AsymmetricLoss
from labelproof.training import LabelMetric

N_FEATURES, N_LABELS = 32, 20


class Classifier(LightningModule):
    """An encoder of one layer, and a head that can predict every set of up to four labels."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(N_FEATURES, 64), nn.ReLU())
        self.head = lp.DFTHead(64, N_LABELS, k=4, slack=16)
        self.loss = AsymmetricLoss(gamma_neg=2.0)
        self.precision_at_3 = LabelMetric("precision@3", n_labels=N_LABELS, scores="logits")

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        return self.head(self.encoder(x))

    def training_step(self, batch: list[Tensor], _index: int) -> Tensor:
        """Return the loss of a batch."""
        x, y = batch
        return self.loss(self(x), y)

    def validation_step(self, batch: list[Tensor], _index: int) -> None:
        """Add a batch to the metric; Lightning computes and resets it."""
        x, y = batch
        self.precision_at_3.update(self(x), y)
        self.log("precision@3", self.precision_at_3, on_epoch=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the optimizer."""
        return torch.optim.AdamW(self.parameters(), lr=0.01)


def examples(n: int, seed: int) -> TensorDataset:
    """Label j is active where feature j is large."""
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(n, N_FEATURES)).astype(np.float32))
    return TensorDataset(x, (x[:, :N_LABELS] > 1.2).float())


def main(epochs: int = 8) -> dict[str, float]:
    """Train, fit thresholds on validation data, and evaluate on test data."""
    torch.manual_seed(0)
    train, validation, test = (examples(n, seed) for seed, n in enumerate((2048, 256, 256)))
    module = Classifier()
    trainer = Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, DataLoader(train, batch_size=64, shuffle=True), DataLoader(validation, batch_size=128))
    module.eval()
    with torch.inference_mode():
        tuning, scores = (module(part.tensors[0]).numpy() for part in (validation, test))
    rule = PerLabelThreshold(scores="logits").fit(validation.tensors[1].numpy(), tuning)
    micro_f1 = lp.metrics.f1_score(test.tensors[1].numpy(), rule.decide(scores), average="micro")
    return {"precision@3": float(trainer.callback_metrics["precision@3"]), "micro_f1": float(micro_f1)}


if __name__ == "__main__":
    print(main())
