"""The configuration that ``labelproof train --template`` prints: every key, its default, and what it does."""

__all__ = ["TEMPLATE"]

TEMPLATE = """\
# What `labelproof train` reads. Every key may be left out; the values here are the defaults unless a comment says so.
# With `data` alone (and `trainer.seed`) the recipe runs (head.kind: auto), which chooses everything below.

data:
  path: data.csv            # no default: a file, [features, labels], a folder, a known name, or {train: ..., test: ...}
  # format: csv             # by default recognised by the file's name
  # text: text              # columns of a table: text, labels, features, image, split, group, time
  # labels: labels
  # separator: ";"          # between the labels of a cell
  validation: 0.1           # share of the training part that is held out, where the data have no part "valid"
  # folds: 5                # instead: fit the decision on out-of-fold logits, then train on all
  test: 0.0                 # the same for the part "test", which is held out first
  min_count: 1              # labels with fewer training examples are left out

# encoder:                  # by default features are taken as they are, texts as TF-IDF
#   kind: tfidf             # features, tfidf, hashing, cnn, gru, pair, static, transformer, image; options of the
                            # kind follow, such as hidden: 512

head:
  kind: dft                 # auto (metric, budget): the recipe, which ignores encoder, loss and decision;
                            # dft: over the real numbers every set of up to k labels can be predicted; guaranteed: in
                            # the stored ones too (code or gaussian); harmonic; bottleneck (d); linear (relu);
                            # svm (C): a linear support vector machine for each label, with encoder.hidden: null
  # k: 10                   # by default the largest number of labels of a training example
  slack: 50                 # learnable columns besides the 2k + 1 fixed ones

loss:
  kind: bce                 # bce, focal, asl, apl, hill, splc, zlpr, two-way, soft-top-k, sigmoid-f1,
                            # unbounded-f1, confusion, sparsemax, entmax, pick-all-labels

decision:                   # fitted on validation data
  kind: per-label           # fixed, global, per-label, threshold-averaging, top-k, label-count, sparsemax-support,
                            # softmax-threshold, expected-f, macro-top-k
  # metric: macro-f1        # what thresholds maximise
  # require_predictable: 0.99 # move thresholds until this share of the training label sets can be predicted

trainer:
  optimizer: adamw          # lbfgs: for a linear head on an encoder without trainable parameters
  epochs: 30
  batch_size: 64            # on all devices together
  lr: 0.003
  # encoder_lr: 0.00002     # of pretrained parameters; by default lr
  weight_decay: 0.0
  schedule: constant        # constant, linear, cosine
  warmup: 0.0               # share of the steps
  # clip: 1.0               # norm of the gradient
  accumulate: 1             # batches for each step
  patience: 5               # epochs without improvement after which training stops; null: never
  monitor: loss             # loss, or any metric, such as micro-f1 or precision@5
  metrics: [micro-f1]       # computed after each epoch
  seed: 0
  precision: "32"           # 32, 64, bf16-mixed, 16-mixed
  accelerator: auto         # auto, cpu, gpu
  devices: 1                # of each machine
  num_nodes: 1              # machines; the same command is given on each
  engine: local             # ray: the labels of a head svm are solved on a Ray cluster, that of RAY_ADDRESS
  strategy: auto            # auto, ddp
  tensorboard: false        # write logs for TensorBoard, if it is installed
"""
