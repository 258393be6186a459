"""Which tensor of a model is its output layer."""

import numpy as np
import pytest

from labelproof.importers.candidates import bias_key, choose_weight
from labelproof.importers.tensors import StoredTensor


def tensors(**shapes):
    """Tensors by name; two underscores stand for a dot."""
    return {
        name.replace("__", "."): StoredTensor(shape, "float32", "f", lambda shape=shape: np.zeros(shape))
        for name, shape in shapes.items()
    }


BODY = {"encoder__layer__0__output__weight": (8, 8), "encoder__layer__0__attention__out_proj__weight": (8, 8)}


@pytest.mark.parametrize(
    "name", ["classifier", "score", "out_proj", "head", "fc", "model.classifier", "module.fc", "_fc", "logits_proj"]
)
def test_a_layer_is_found_by_its_usual_name(name):
    named = tensors(**BODY, **{f"{name}.weight": (5, 8)})
    assert choose_weight(named) == f"{name}.weight"


@pytest.mark.parametrize(
    ("inside", "last"),
    [
        ({"dense": (8, 8), "out_proj": (5, 8)}, "out_proj"),
        ({"out_proj": (5, 8), "dense": (8, 8)}, "out_proj"),
        ({"linear_hidden": (8, 8), "linear_out": (5, 8)}, "linear_out"),
        ({"projection": (3, 8), "output": (5, 3)}, "output"),
        ({"0": (16, 8), "3": (12, 16), "6": (5, 12)}, "6"),
        ({"10": (5, 16), "9": (16, 8)}, "10"),
        ({"1": (5, 8)}, "1"),
    ],
)
def test_the_last_layer_of_a_classifier_is_taken(inside, last):
    named = tensors(**BODY, **{f"classifier__{key}__weight": shape for key, shape in inside.items()})
    assert choose_weight(named) == f"classifier.{last}.weight"


@pytest.mark.parametrize(
    "shapes",
    [
        {"head__weight": (5, 8), "fc__weight": (5, 8)},
        {"model__fc__weight": (5, 8), "model_ema__fc__weight": (5, 8)} | {"model__head__weight": (4, 8)},
        {"heads__0__weight": (1, 8), "heads__1__weight": (1, 8)},
        {"heads__0__weight": (8, 8), "heads__1__weight": (8, 8)},
        {"classifier__weight": (5, 8), "classifier__out__weight": (5, 8)},
        {"classifier__0__weight": (9, 8), "classifier__1__weight": (5, 9), "classifier__2__weight": (5, 9)},
    ],
)
def test_several_candidates_are_listed_and_asked_about(shapes):
    named = tensors(**shapes)
    with pytest.raises(ValueError, match=r"expected one output layer, got .*\(\d+×8\).*weight_key="):
        choose_weight(named)


def test_a_norm_after_the_last_linear_layer_leaves_a_doubt():
    named = tensors(head__0__weight=(9, 8), head__1__weight=(5, 9), head__2__weight=(5,))
    with pytest.raises(ValueError, match="expected one output layer"):
        choose_weight(named)


def test_the_number_of_labels_decides_between_candidates():
    named = tensors(head__weight=(4, 8), fc__weight=(5, 8))
    assert choose_weight(named, n_labels=5) == "fc.weight"
    with pytest.raises(ValueError, match=r"expected one output layer, got head.weight \(4×8\), fc.weight \(5×8\)"):
        choose_weight(named, n_labels=6)
    with pytest.raises(ValueError, match=r"expected 6 labels, got 5 rows in fc.weight"):
        choose_weight(tensors(fc__weight=(5, 8)), n_labels=6)


def test_a_name_that_output_layers_always_have_precedes_one_that_other_layers_may_have():
    assert choose_weight(tensors(linear__weight=(8, 8), classifier__weight=(5, 8))) == "classifier.weight"
    assert choose_weight(tensors(encoder__fc__weight=(8, 8), output__weight=(5, 8))) == "output.weight"
    assert choose_weight(tensors(**BODY, encoder__fc__weight=(8, 8))) == "encoder.fc.weight"


def test_the_weight_key_names_a_tensor_or_its_module():
    named = tensors(head__weight=(4, 8), fc__weight=(5, 8))
    assert choose_weight(named, weight_key="fc") == choose_weight(named, weight_key="fc.weight") == "fc.weight"
    with pytest.raises(ValueError, match=r"expected the tensor 'cf', got fc.weight \(5×8\), head.weight \(4×8\)"):
        choose_weight(named, weight_key="cf")
    with pytest.raises(ValueError, match="expected the tensor 'cf', got no tensors"):
        choose_weight({}, weight_key="cf")


def test_layers_of_a_bare_sequence_feed_one_another():
    named = tensors(**{"0.weight": (9, 8), "0.bias": (9,), "2.weight": (5, 9), "2.bias": (5,)})
    assert choose_weight(named) == "2.weight"


@pytest.mark.parametrize("name", ["weight", "W", "coef_", "anything"])
def test_a_matrix_alone_is_the_layer(name):
    assert choose_weight(tensors(**{name: (5, 8), "steps": (5,)})) == name


def test_models_without_a_linear_layer_are_refused():
    with pytest.raises(ValueError, match="found no linear layer"):
        choose_weight(tensors(scale=(5,), shift=(5,)))
    with pytest.raises(ValueError, match=r"usual name among b.weight \(8×8\), a.weight \(9×8\): .*weight_key="):
        choose_weight(tensors(a__weight=(9, 8), b__weight=(8, 8)))
    many = tensors(**{f"layer{i}__weight": (8, 8) for i in range(20)})
    with pytest.raises(ValueError, match=r"layer12.weight \(8×8\) and 12 more"):
        choose_weight(many)
    with pytest.raises(ValueError, match="one word after another"):
        choose_weight(tensors(a__weight=(9, 8), lm_head__weight=(90, 8)))


# Labels that do not share one feature vector


@pytest.mark.parametrize(
    ("attention", "final"),
    [
        ("U.weight", "final.weight"),  # CAML
        ("network.attention.attention.Q.weight", "network.output.weight"),  # LibMultiLabel
        ("second_linear.weight", "third_linear.weight"),  # LAAT
        ("label_wise_attention.weight", "classifier.weight"),
    ],
)
@pytest.mark.parametrize("asked", [False, True])
def test_label_wise_attention_is_refused_even_when_it_is_asked_for(attention, final, asked):
    named = tensors(**{"word_rnn.weight": (12, 8), attention: (50, 8), final: (50, 8)})
    with pytest.raises(ValueError, match=r"label-wise attention .* every label has features of its own"):
        choose_weight(named, weight_key=final if asked else None)


def test_a_weight_of_three_axes_is_refused():
    with pytest.raises(ValueError, match=r"got classifier.weight \(5×8×2\): labels of such a layer do not share"):
        choose_weight(tensors(classifier__weight=(5, 8, 2)))
    with pytest.raises(ValueError, match="do not share"):
        choose_weight(tensors(classifier__weight=(5, 8, 1, 1)), weight_key="classifier")


def test_an_adaptive_softmax_is_refused():
    named = tensors(loss__head__weight=(12, 8), **{"loss.tail.0.0.weight": (4, 8), "loss.tail.0.1.weight": (30, 4)})
    with pytest.raises(ValueError, match="adaptive softmax: its labels are partitioned"):
        choose_weight(named, weight_key="loss.head")


def test_weights_that_are_computed_are_refused():
    dft = tensors(classifier__projection__weight=(9, 8), classifier__slack_weight=(50, 4), classifier__places=(50,))
    with pytest.raises(ValueError, match=r"classifier is a head with fixed columns, which are not stored: .*layer_of"):
        choose_weight(dft)
    for names in (("weight_g", "weight_v"), ("parametrizations.weight.original0", "parametrizations.weight.original1")):
        normalised = tensors(**{f"classifier.{name}": (5, 8) for name in names}, linear__weight=(8, 8))
        with pytest.raises(ValueError, match="belongs to a weight that is computed from others"):
            choose_weight(normalised)


def test_the_bias_of_a_weight_has_its_name():
    named = tensors(fc__weight=(5, 8), fc__bias=(5,), W=(5, 8), b=(5,), other__weight=(5, 8))
    assert (bias_key(named, "fc.weight"), bias_key(named, "W"), bias_key(named, "other.weight")) == (
        "fc.bias",
        "b",
        None,
    )
