"""What `help` says of a metric: every parameter of its signature, written out."""

import inspect

import pytest

from labelproof import metrics
from labelproof.metrics.documentation import documented

FUNCTIONS = [getattr(metrics, name) for name in metrics.__all__ if inspect.isfunction(getattr(metrics, name))]
SCORES = [function for function in FUNCTIONS if "y_true" in inspect.signature(function).parameters]


@pytest.mark.parametrize("function", SCORES, ids=lambda function: function.__name__)
def test_every_parameter_of_a_metric_is_explained(function):
    text = inspect.getdoc(function)
    explained = text.split("Parameters\n----------\n")[1].split("\n\n")[0].splitlines()
    names = {name for line in explained if not line.startswith(" ") for name in line.split(", ")}
    assert names == set(inspect.signature(function).parameters)
    assert "{" not in "".join(explained)


def test_a_parameter_that_nobody_explains_is_an_error():
    def wrong():
        """Do nothing.

        {no_such_parameter}
        """

    with pytest.raises(KeyError, match="no_such_parameter"):
        documented(wrong)
