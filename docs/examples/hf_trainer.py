"""A transformers model with our head and loss, trained by the Hugging Face Trainer.

The model here is tiny and random, so that the example runs anywhere; put ``from_pretrained`` in its place.
"""

import tempfile

import numpy as np
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    EvalPrediction,
    Trainer,
    TrainingArguments,
)

import labelproof as lp
from labelproof.losses import BinaryCrossEntropyLoss, TrainerLoss

N_LABELS, N_WORDS = 12, 25


class Documents(torch.utils.data.Dataset):
    """Documents of six words; label j is active where word j occurs."""

    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.words = torch.from_numpy(rng.integers(1, N_WORDS, size=(n, 6)))
        self.labels = torch.stack([(self.words == j + 1).any(dim=1) for j in range(N_LABELS)], dim=1).float()

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.words[i], "labels": self.labels[i]}


def compute_metrics(output: EvalPrediction) -> dict[str, float]:
    """Evaluate logits with the library's metrics; tune thresholds on other data with ``labelproof.decisions``."""
    values = lp.metrics.evaluate(output.label_ids.astype(bool), output.predictions, scores="logits")
    return {"micro_f1": values["micro-f1"], "precision_at_1": values["precision@1"]}


def main(steps: int = 150) -> dict[str, float]:
    """Train, evaluate, and prove that every set of up to three labels can be predicted."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=N_WORDS,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
        num_labels=N_LABELS,
        problem_type="multi_label_classification",
    )
    model = BertForSequenceClassification(config)
    model.classifier = lp.DFTHead(config.hidden_size, N_LABELS, k=3, slack=8)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=64,
            learning_rate=3e-3,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
            seed=0,
            dataloader_pin_memory=False,
        )
        trainer = Trainer(
            model=model,
            args=arguments,
            train_dataset=Documents(512, seed=0),
            eval_dataset=Documents(128, seed=1),
            compute_loss_func=TrainerLoss(BinaryCrossEntropyLoss()),
            compute_metrics=compute_metrics,
        )
        trainer.train()
        values = trainer.evaluate()
    sets = [[0], [1, 5], [2, 7, 11]]
    verdict = lp.verify(model.classifier.weight.detach().numpy(), sets)
    return {"micro_f1": values["eval_micro_f1"], "argmaxable": float((verdict.status == 1).mean())}


if __name__ == "__main__":
    print(main())
