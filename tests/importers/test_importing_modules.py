"""Live torch modules."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

import labelproof as lp
from in_domain import assert_in_domain
from labelproof.importers import layer_of
from labelproof.importers.feature_domains import after


class Net(nn.Module):
    """A body and a classifier, with a given function before it and another after it."""

    def __init__(self, before=None, following=None):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.classifier = nn.Linear(6, 4), nn.Linear(4, 5)
        self.before, self.following = before or nn.Identity(), following or nn.Identity()

    def forward(self, x):
        return self.following(self.classifier(self.before(20 * self.body(x))))


X = torch.randn(50, 6, generator=torch.Generator().manual_seed(1))


def same_logits(layer, module, x=X):
    bias = 0 if layer.bias is None else layer.bias
    with torch.no_grad():
        expected = module.eval()(x).numpy()
    np.testing.assert_allclose(layer.features(x) @ layer.weight.T + bias, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("before", "name", "domain"),
    [
        (nn.ReLU(), "ReLU", "nonnegative"),
        (nn.Sequential(nn.ReLU(), nn.Dropout()), "ReLU", "nonnegative"),
        (nn.Tanh(), "tanh", (-1.0, 1.0)),
        (nn.Hardtanh(-2, 3), "hard tanh", (-2.0, 3.0)),
        (nn.ReLU6(), "ReLU6", (0.0, 6.0)),
        (nn.Sigmoid(), "sigmoid", (0.0, 1.0)),
        (nn.Softplus(), "softplus", "nonnegative"),
        (nn.GELU(), "GELU", (-0.18, np.inf)),
        (nn.SiLU(), "SiLU", (-0.29, np.inf)),
        (nn.ELU(), "ELU", (-1.0, np.inf)),
        (nn.ELU(alpha=3), None, None),
        (nn.LayerNorm(4), "LayerNorm", ("ball", 2.002)),
        (nn.LayerNorm(4, elementwise_affine=False), "LayerNorm", ("ball", 2.002)),
        (nn.RMSNorm(4), "RMSNorm", ("ball", 2.002)),
        (lambda x: F.layer_norm(x, (4,)), "LayerNorm", None),
        (nn.Sequential(nn.LayerNorm(4), nn.Dropout()), "LayerNorm", ("ball", 2.002)),
        (nn.Sequential(nn.LayerNorm(4), nn.Unflatten(1, (2, 2)), nn.Flatten()), "LayerNorm", None),
        (nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.LayerNorm((2, 2)), nn.Flatten()), "LayerNorm", None),
        (nn.LeakyReLU(), "leaky ReLU", None),
        (nn.Softshrink(), None, None),
        (torch.relu, "ReLU", "nonnegative"),
        (F.relu, "ReLU", "nonnegative"),
        (torch.tanh, "tanh", (-1.0, 1.0)),
        (lambda x: x.sigmoid(), "sigmoid", (0.0, 1.0)),
        (lambda x: F.gelu(x), "GELU", (-0.18, np.inf)),
        (lambda x: F.dropout(x.tanh(), training=False), "tanh", (-1.0, 1.0)),
        (lambda x: F.dropout(x.tanh()), None, None),
        (lambda x: x.relu().unsqueeze(1).mean(1), "ReLU", "nonnegative"),
        (lambda x: x.relu() - 1, None, None),
        (lambda x: x.relu()[:, :4], "ReLU", "nonnegative"),
        (nn.Linear(4, 4), "a linear layer", None),
        (lambda x: F.dropout(input=x.tanh(), training=False), "tanh", (-1.0, 1.0)),
        (lambda x: F.avg_pool2d(x.tanh()[:, None], 1, divisor_override=1)[:, 0], None, None),
        (
            nn.Sequential(nn.Tanh(), nn.Unflatten(1, (1, 4)), nn.AvgPool2d(1, divisor_override=1), nn.Flatten()),
            None,
            None,
        ),
        (nn.Sequential(nn.Tanh(), nn.Unflatten(1, (1, 4)), nn.AvgPool2d(1), nn.Flatten()), "tanh", (-1.0, 1.0)),
    ],
)
def test_what_stands_before_the_layer_is_read_from_the_modules_graph(before, name, domain):
    net = Net(before)
    layer = layer_of(net)
    np.testing.assert_array_equal(layer.weight, net.classifier.weight.detach().double().numpy())
    np.testing.assert_array_equal(layer.bias, net.classifier.bias.detach().double().numpy())
    assert (layer.before, layer.domain) == (name, domain)
    assert (layer.source, layer.kind, layer.model) == ("classifier.weight", "torch module", "Net")
    assert_in_domain(layer.features(X), domain)


class Words(nn.Module):
    """Three vectors of each input through a norm, of which one vector is made in a given way."""

    def __init__(self, norm, one):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.norm, self.one, self.classifier = nn.Linear(6, 12), norm, one, nn.Linear(4, 5)

    def forward(self, x):
        return self.classifier(self.one(self.norm(self.body(x).view(-1, 3, 4))))


@pytest.mark.parametrize(
    ("one", "is_known"),
    [
        (lambda x: x[:, 0], True),
        (lambda x: x.mean(1), True),
        (lambda x: x.mean(dim=1), True),
        (lambda x: x[:, -1].contiguous(), True),
        (lambda x: x.amax(1), False),  # the largest of each feature may leave the ball
        (lambda x: x.sum(1), False),
        (lambda x: x.transpose(1, 2).reshape(-1, 3, 4)[:, 0], False),
        (lambda x: x[:, 0, :], False),
    ],
)
@pytest.mark.parametrize("kind", [nn.LayerNorm, nn.RMSNorm])
def test_a_norm_keeps_features_in_a_ball_around_its_bias(one, is_known, kind):
    norm = kind(4)
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([0.5, -3.0, 1.0, 2.0]))
        if kind is nn.LayerNorm:
            norm.bias.copy_(torch.tensor([1.0, 0.0, -7.0, 2.0]))
    layer = layer_of(Words(norm, one))
    if not is_known:
        assert layer.domain is None
        return
    shape, radius, *centre = layer.domain
    assert (shape, 6.0 < radius < 6.1) == ("ball", True)
    np.testing.assert_array_equal(centre, [[1, 0, -7, 2]] if kind is nn.LayerNorm else [])
    assert layer.domain_reason == (
        f"The inputs of the layer have passed {kind.__name__}, so they are within {radius:.4g} of "
        f"{'its bias' if centre else '0'}."
    )
    assert_in_domain(layer.features(100 * X), layer.domain)


def test_a_norm_of_weight_0_bounds_nothing():
    norm = nn.LayerNorm(4)
    nn.init.zeros_(norm.weight)
    assert layer_of(Net(norm)).domain is None


def test_features_of_a_module_give_its_logits_and_leave_it_as_it_was():
    net = Net(nn.Sequential(nn.Tanh(), nn.Dropout()))
    net.train()
    net.before[0].eval()
    layer = layer_of(net)
    layer.features(X)
    assert net.training
    assert not net.before[0].training
    same_logits(layer, net)


def test_a_sequence_ends_in_its_last_layer():
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 5, bias=False))
    layer = layer_of(net)
    assert (layer.source, layer.domain, layer.bias) == ("4.weight", (-1.0, 1.0), None)
    same_logits(layer, net)


def test_a_layer_that_reads_the_input_itself_may_read_anything():
    layer = layer_of(nn.Sequential(nn.Flatten(), nn.Linear(6, 5)))
    assert (layer.source, layer.before, layer.domain) == ("1.weight", None, None)


def test_a_linear_layer_and_a_tensor_are_layers():
    linear = nn.Linear(3, 5).bfloat16()
    layer = layer_of(linear)
    np.testing.assert_array_equal(layer.weight, linear.weight.detach().double().numpy())
    assert (layer.dtype, layer.source, layer.domain) == ("bfloat16", "weight", None)
    np.testing.assert_array_equal(layer_of(linear.weight).weight, layer.weight)
    with pytest.raises(ValueError, match="expected numbers, got a tensor on the meta device"):
        layer_of(torch.ones(3, 2, device="meta"))


@pytest.mark.parametrize(
    ("following", "rule"),
    [
        (nn.Sigmoid(), "sigmoid"),
        (torch.sigmoid, "sigmoid"),
        (nn.Softmax(-1), "topk"),
        (lambda z: F.log_softmax(z, -1), "topk"),
    ],
)
def test_what_follows_the_layer_gives_the_rule(following, rule):
    layer = layer_of(Net(nn.ReLU(), following))
    assert (layer.rule, layer.n_labels, bool(layer.notes)) == (rule, 5, rule == "topk")


def test_a_functional_layer_is_found_by_its_parameter():
    class Functional(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.randn(5, 6)), nn.Parameter(torch.randn(5))

        def forward(self, x):
            return F.linear(x.relu(), self.weight, self.bias)

    net = Functional()
    layer = layer_of(net)
    np.testing.assert_array_equal(layer.weight, net.weight.detach().double().numpy())
    np.testing.assert_array_equal(layer.bias, net.bias.detach().double().numpy())
    assert layer.domain == "nonnegative"


class Trainable(Net):
    """It returns a loss too, when labels are given, and logits by name."""

    def forward(self, x, labels=None, *, named=True):
        logits = self.classifier(input=self.body(x).tanh())
        if labels is not None:
            return F.binary_cross_entropy_with_logits(logits, labels), logits
        return {"logits": torch.sigmoid(input=logits)} if named else logits


def test_arguments_that_can_be_left_out_are_left_out():
    layer = layer_of(Trainable())
    assert (layer.source, layer.domain) == ("classifier.weight", (-1.0, 1.0))


# Modules whose output is not that of a linear layer


@pytest.mark.parametrize(
    ("following", "what"),
    [
        (lambda z: z / 2, "truediv"),
        (lambda z: -z, "neg"),
        (nn.LayerNorm(5), "LayerNorm"),
        (nn.ReLU(), "ReLU"),
        (lambda z: (z, z), "expected one output, got tuple"),
    ],
)
def test_an_output_that_is_not_a_linear_layers_is_refused(following, what):
    with pytest.raises(ValueError, match=what):
        layer_of(Net(nn.ReLU(), following))
    layer = layer_of(Net(nn.ReLU(), following), weight_key="classifier")
    assert (layer.n_labels, layer.domain) == (5, None)


class LabelWise(nn.Module):
    """Label-wise attention, as in CAML."""

    def __init__(self, traceable):
        super().__init__()
        self.U, self.final, self.traceable = nn.Linear(6, 9), nn.Linear(6, 9), traceable

    def forward(self, x):
        if not self.traceable and x.sum() > 0:
            x = x + 1
        attention = torch.softmax(self.U.weight @ x.transpose(1, 2), dim=2)
        return self.final.weight.mul(attention @ x).sum(dim=2).add(self.final.bias)


def test_label_wise_attention_is_refused():
    with pytest.raises(ValueError, match="expected the output of a linear layer, got that of add"):
        layer_of(LabelWise(traceable=True))
    with pytest.raises(ValueError, match=r"label-wise attention \(as in CAML\)"):
        layer_of(LabelWise(traceable=False))
    with pytest.raises(ValueError, match=r"label-wise attention \(as in CAML\)"):
        layer_of(LabelWise(traceable=True), weight_key="final")


def test_normalised_weights_are_refused():
    class Cosine(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(5, 6))

        def forward(self, x):
            return F.linear(F.normalize(x), F.normalize(self.weight))

    with pytest.raises(ValueError, match="expected the output of a linear layer, got that of linear"):
        layer_of(Cosine())


# Modules that torch cannot trace


class Branching(nn.Module):
    def __init__(self, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.classifier(x if x.sum() > 0 else -x)


def test_names_decide_where_the_graph_is_not_known():
    net = Branching(body=nn.Linear(6, 6), classifier=nn.Linear(6, 5))
    layer = layer_of(net)
    assert (layer.source, layer.before, layer.domain) == ("classifier.weight", None, None)
    with pytest.raises(ValueError, match=r"expected one output layer, got head.weight"):
        layer_of(Branching(head=nn.Linear(6, 5), classifier=nn.Linear(6, 5)))


def test_a_forward_that_was_replaced_is_not_known_from_the_graph():
    net = Net(nn.ReLU())
    net.forward = lambda x: net.classifier(net.body(x))
    assert (layer_of(net).source, layer_of(net).domain) == ("classifier.weight", None)


def test_what_a_timm_model_calls_its_classifier_is_taken():
    class Timm(Branching):
        def get_classifier(self):
            return self.last

        def forward(self, x):
            return self.last(x if x.sum() > 0 else -x)

    net = Timm(first=nn.Linear(6, 6), last=nn.Linear(6, 5))
    assert layer_of(net).source == "last.weight"


def test_features_must_enter_the_layer_once():
    net = Branching(classifier=nn.Linear(6, 5))
    with pytest.raises(ValueError, match=r"expected one batch of features .*, got shapes \[\(2, 3, 6\)\]"):
        layer_of(net).features(torch.ones(2, 3, 6))


def test_a_module_without_linear_layers_is_refused():
    with pytest.raises(ValueError, match="expected the output of a linear layer, got that of Conv1d"):
        layer_of(nn.Sequential(nn.Conv1d(3, 5, 1)))
    with pytest.raises(ValueError, match="found no linear layer"):
        layer_of(Branching(classifier=nn.ReLU()))


# labelproof's own heads


@pytest.mark.parametrize(
    "head",
    [lp.BottleneckHead(12, 9, 3, bias=True), lp.DFTHead(12, 9, 2, 4), lp.DFTHead(12, 9, 2, 0, order=range(8, -1, -1))],
    ids=["bottleneck", "dft", "ordered"],
)
def test_a_head_of_our_own_is_taken_alone_and_inside_a_module(head):
    for module, source in ((head, None), (nn.Sequential(nn.Linear(6, 12), head), "1.weight")):
        layer = layer_of(module)
        np.testing.assert_array_equal(layer.weight, head.weight.detach().double().numpy())
        assert (layer.before, layer.domain, layer.n_labels) == ("a linear layer", None, 9)
        assert source is None or layer.source == source
        features = head.projection(torch.ones(2, 12)).detach().numpy()
        bias = 0 if layer.bias is None else layer.bias
        np.testing.assert_allclose(
            features @ layer.weight.T + bias, head(torch.ones(2, 12)).detach().numpy(), rtol=1e-4, atol=1e-5
        )


# The bounds themselves


ACTIVATIONS = {
    "relu": F.relu, "softplus": F.softplus, "tanh": torch.tanh, "hardtanh": F.hardtanh, "softsign": F.softsign,
    "sigmoid": torch.sigmoid, "hardsigmoid": F.hardsigmoid, "relu6": F.relu6, "gelu": F.gelu, "silu": F.silu,
    "mish": F.mish, "hardswish": F.hardswish, "elu": F.elu, "selu": F.selu, "abs": torch.abs,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"), "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_no_value_of_an_activation_leaves_its_domain(name, dtype):
    x = torch.cat([torch.linspace(-12, 12, 20_001), torch.tensor([-1e4, 1e4])]).to(dtype)
    values = ACTIVATIONS[name](x).double()
    domain = after(name).domain
    low, high = (0, np.inf) if domain == "nonnegative" else domain
    assert low <= values.min()
    assert values.max() <= high
    assert values.min() < low + 0.13
