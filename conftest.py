"""Keras reads its backend when it is imported: for the tests it is torch, unless the environment says otherwise."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")
