"""Values and gradients of a function of one array, on the backend that Keras runs on, eager or compiled."""

import keras
import numpy as np

COMPILED = (False,) if keras.backend.backend() == "torch" else (False, True)  # torch.compile takes minutes


def value_and_gradient(function, x, *, compiled=False):
    """The value of a scalar function of a tensor, and its gradient, as numpy."""
    run = {"torch": _by_torch, "jax": _by_jax, "tensorflow": _by_tensorflow}[keras.backend.backend()]
    value, gradient = run(function, np.asarray(x, np.float32), compiled)
    return float(value), np.asarray(gradient)


def _by_torch(function, x, _):
    import torch

    leaf = torch.tensor(x, requires_grad=True)
    value = function(leaf)
    value.backward()
    return value.detach(), leaf.grad.numpy()


def _by_jax(function, x, compiled):
    import jax

    both = jax.value_and_grad(function)
    return (jax.jit(both) if compiled else both)(x)


def _by_tensorflow(function, x, compiled):
    import tensorflow as tf

    def both(leaf):
        with tf.GradientTape() as tape:
            tape.watch(leaf)
            value = function(leaf)
        return value, tape.gradient(value, leaf)

    both = tf.function(both, jit_compile=True) if compiled else both
    value, gradient = both(tf.constant(x))
    return value.numpy(), gradient.numpy()
