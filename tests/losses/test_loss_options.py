"""The options that losses share are said once, and still seen: by `help`, by name, and refused if unknown."""

import inspect

import pytest
import torch

from labelproof import functional, losses

TWINS = {
    losses.BinaryCrossEntropyLoss: functional.binary_cross_entropy_loss,
    losses.FocalLoss: functional.focal_loss,
    losses.AsymmetricLoss: functional.asymmetric_loss,
    losses.AsymmetricPolynomialLoss: functional.asymmetric_polynomial_loss,
    losses.HillLoss: functional.hill_loss,
    losses.SPLCLoss: functional.splc_loss,
    losses.ZLPRLoss: functional.zlpr_loss,
    losses.TwoWayLoss: functional.two_way_loss,
    losses.SoftTopKLoss: functional.soft_top_k_loss,
    losses.SigmoidF1Loss: functional.sigmoid_f1_loss,
    losses.UnboundedF1Loss: functional.unbounded_f1_loss,
    losses.ConfusionLoss: functional.confusion_loss,
}
ONLY_OF_MODULES = {"learn", "decay", "warm_up"}  # what is learned or remembered


@pytest.mark.parametrize(("module", "twin"), TWINS.items(), ids=lambda one: one.__name__)
def test_module_and_function_have_the_same_options_and_defaults(module, twin):
    ours, theirs = inspect.signature(module).parameters, inspect.signature(twin).parameters
    for parameters in (ours, theirs):
        assert all(one.kind is not one.VAR_KEYWORD for one in parameters.values())
    assert set(ours) - ONLY_OF_MODULES <= set(theirs)
    for name in set(ours) - ONLY_OF_MODULES:
        assert ours[name].default == theirs[name].default, name
    assert {"mask", "example_weight", "reduction", "label_weight"} <= set(theirs)


@pytest.mark.parametrize("function", [*TWINS, *TWINS.values()], ids=lambda one: one.__name__)
def test_an_unknown_option_is_refused(function):
    given = () if inspect.isclass(function) else (torch.zeros(1, 2), [[0]])
    with pytest.raises(TypeError, match="unexpected keyword argument 'smothing'"):
        function(*given, smothing=1.0)


def test_counts_take_the_options_that_count():
    names = set(inspect.signature(functional.confusion_counts).parameters)
    assert names == {
        *("logits", "targets", "beta", "eta", "scores", "average", "mask", "example_weight", "label_weight"),
    }
