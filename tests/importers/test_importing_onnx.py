"""ONNX files: exported from torch, and built by hand."""

import warnings

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from labelproof.errors import MissingPackageError, ModelFormatError
from labelproof.importers import read_layer

RNG = np.random.default_rng(0)
W = RNG.normal(size=(5, 3)).astype(np.float32)
B = RNG.normal(size=5).astype(np.float32)


def save(path, nodes, outputs=("z",), **stored):
    """A model with the input x (n, 3) and these nodes and tensors."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    tensors = [
        array if isinstance(array, TensorProto) else numpy_helper.from_array(array, name)
        for name, array in stored.items()
    ]
    graph = helper.make_graph(nodes, "g", inputs, values, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return path


node = helper.make_node
GEMM = node("Gemm", ["x", "W", "b"], ["z"], transB=1)


@pytest.mark.parametrize(
    ("between", "before", "domain"),
    [
        ([nn.ReLU(), nn.Dropout()], "ReLU", "nonnegative"),
        ([nn.LayerNorm(4)], "LayerNorm", ("ball", 2.002)),
    ],
)
def test_a_module_that_torch_exports_keeps_its_output_layer(tmp_path, between, before, domain):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), *between, nn.Linear(4, 5)).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own
        torch.onnx.export(
            net, (torch.ones(2, 3),), tmp_path / "m.onnx", dynamo=True, external_data=False, verbose=False
        )
    layer = read_layer(tmp_path / "m.onnx")
    np.testing.assert_array_equal(layer.weight, net[-1].weight.detach().double().numpy())
    np.testing.assert_array_equal(layer.bias, net[-1].bias.detach().double().numpy())
    assert (layer.before, layer.domain, layer.dtype, layer.rule) == (before, domain, "float32", "sigmoid")
    assert layer.kind == "ONNX file"


@pytest.mark.parametrize(
    ("nodes", "stored"),
    [
        ([GEMM], {"W": W, "b": B}),
        ([node("Gemm", ["x", "W", "b"], ["z"])], {"W": W.T.copy(), "b": B}),
        ([node("MatMul", ["x", "W"], ["p"]), node("Add", ["p", "b"], ["z"])], {"W": W.T.copy(), "b": B}),
        ([node("MatMul", ["x", "W"], ["p"]), node("Add", ["b", "p"], ["z"])], {"W": W.T.copy(), "b": B[None]}),
        ([node("Transpose", ["W"], ["T"], perm=[1, 0]), node("Gemm", ["x", "T", "b"], ["z"])], {"W": W, "b": B}),
        ([node("Transpose", ["W"], ["T"]), node("Gemm", ["x", "T", "b"], ["z"])], {"W": W, "b": B}),
        ([node("Transpose", ["V"], ["W"], perm=[0, 1]), GEMM], {"V": W, "b": B}),
        ([node("Constant", [], ["W"], value=numpy_helper.from_array(W)), GEMM], {"b": B}),
    ],
)  # fmt: skip
def test_every_form_of_a_linear_layer_gives_the_files_own_logits(tmp_path, nodes, stored):
    path = save(tmp_path / "m.onnx", nodes, **stored)
    layer = read_layer(path)
    np.testing.assert_array_equal(layer.weight, W.astype(np.float64))
    np.testing.assert_array_equal(layer.bias, B.astype(np.float64))
    x = RNG.normal(size=(4, 3)).astype(np.float32)
    logits = onnxruntime.InferenceSession(path).run(None, {"x": x})[0]
    np.testing.assert_allclose(x @ layer.weight.T + layer.bias, logits, rtol=1e-4, atol=1e-5)


def test_a_layer_without_a_bias_has_none(tmp_path):
    assert read_layer(save(tmp_path / "m.onnx", [node("MatMul", ["x", "W"], ["z"])], W=W.T.copy())).bias is None
    assert read_layer(save(tmp_path / "m.onnx", [node("Gemm", ["x", "W"], ["z"])], W=W.T.copy())).bias is None


@pytest.mark.parametrize(
    ("last", "rule"), [(["Sigmoid"], "sigmoid"), (["Identity", "Sigmoid"], "sigmoid"), (["Softmax"], "topk")]
)
def test_what_follows_the_layer_gives_the_rule(tmp_path, last, rule):
    names = [f"v{i}" for i in range(len(last))] + ["z"]
    nodes = [node("Gemm", ["x", "W", "b"], ["v0"], transB=1)]
    nodes += [node(kind, [names[i]], [names[i + 1]]) for i, kind in enumerate(last)]
    layer = read_layer(save(tmp_path / "m.onnx", nodes, W=W, b=B))
    assert (layer.rule, layer.n_labels, bool(layer.notes)) == (rule, 5, rule == "topk")


@pytest.mark.parametrize(
    ("stored", "domain"),
    [
        ({"low": np.float32(0), "high": np.float32(6)}, (0.0, 6.0)),
        ({"low": np.float32(-1)}, (-1.0, np.inf)),
        ({"low": np.float32(1)}, None),
    ],
)
def test_a_clip_bounds_the_features(tmp_path, stored, domain):
    nodes = [node("Clip", ["x", *stored], ["c"]), node("Flatten", ["c"], ["f"])]
    nodes.append(node("Gemm", ["f", "W", "b"], ["z"], transB=1))
    arrays = {name: np.array(value) for name, value in stored.items()}
    assert read_layer(save(tmp_path / "m.onnx", nodes, W=W, b=B, **arrays)).domain == domain


def test_dropout_that_may_scale_bounds_nothing(tmp_path):
    stored = {"W": W, "b": B, "ratio": np.array(0.5, np.float32), "training": np.array(True)}
    for extra, domain in (([], (-1.0, 1.0)), (["ratio", "training"], None)):
        nodes = [node("Tanh", ["x"], ["t"]), node("Dropout", ["t", *extra], ["d"])]
        path = save(tmp_path / "m.onnx", [*nodes, node("Gemm", ["d", "W", "b"], ["z"], transB=1)], **stored)
        assert read_layer(path).domain == domain


def test_a_clip_with_computed_bounds_and_a_sum_bound_nothing(tmp_path):
    clip = [node("ReduceMax", ["x"], ["m"], keepdims=0), node("Clip", ["x", "m"], ["c"])]
    for nodes in (clip, [node("Relu", ["x"], ["r"]), node("Sub", ["r", "x"], ["c"])]):
        path = save(tmp_path / "m.onnx", [*nodes, node("Gemm", ["c", "W", "b"], ["z"], transB=1)], W=W, b=B)
        assert read_layer(path).domain is None


@pytest.mark.parametrize(
    ("operation", "domain"), [("Tanh", (-1.0, 1.0)), ("Sigmoid", (0.0, 1.0)), ("Gelu", (-0.18, np.inf)), ("Erf", None)]
)
def test_an_operation_before_the_layer_bounds_the_features(tmp_path, operation, domain):
    nodes = [node(operation, ["x"], ["r"]), node("Gemm", ["r", "W", "b"], ["z"], transB=1)]
    assert read_layer(save(tmp_path / "m.onnx", nodes, W=W, b=B)).domain == domain


@pytest.mark.parametrize(
    ("between", "options", "is_known"),
    [([], {}, True), (["Identity"], {"axis": -1}, True), ([], {"axis": 0}, False), (["Transpose"], {}, False)],
)
def test_a_norm_keeps_features_in_a_ball_around_its_bias(tmp_path, between, options, is_known):
    stored = {"g": np.array([1.0, -2.0, 0.5], np.float32), "s": np.array([0.0, 1.0, 2.0], np.float32), "W": W, "b": B}
    names = ["x", *(f"t{k}" for k in range(1 + len(between)))]
    nodes = [node("LayerNormalization", ["x", "g", "s"], ["t0"], **options)]
    nodes += [node(kind, [names[k + 1]], [names[k + 2]]) for k, kind in enumerate(between)]
    layer = read_layer(
        save(tmp_path / "m.onnx", [*nodes, node("Gemm", [names[-1], "W", "b"], ["z"], transB=1)], **stored)
    )
    assert (layer.before, layer.domain is not None) == ("LayerNorm", is_known)
    if is_known:
        kind, radius, centre = layer.domain
        assert (kind, centre.tolist(), 2 * 3**0.5 < radius < 3.48) == ("ball", [0, 1, 2], True)


def test_a_norm_whose_weight_is_computed_bounds_nothing(tmp_path):
    nodes = [node("Relu", ["g"], ["r"]), node("LayerNormalization", ["x", "r"], ["n"])]
    nodes.append(node("Gemm", ["n", "W", "b"], ["z"], transB=1))
    assert read_layer(save(tmp_path / "m.onnx", nodes, W=W, b=B, g=np.ones(3, np.float32))).domain is None


def test_averages_keep_the_bounds(tmp_path):
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("ReduceMean", ["r"], ["c"]),
        node("Gemm", ["c", "W", "b"], ["z"], transB=1),
    ]
    assert read_layer(save(tmp_path / "m.onnx", nodes, W=W, b=B)).domain == "nonnegative"


@pytest.mark.parametrize("kind", [TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_numbers_of_every_precision_are_exact(tmp_path, kind):
    weight = helper.make_tensor("W", kind, (5, 3), W.ravel().tolist())
    layer = read_layer(save(tmp_path / "m.onnx", [node("Gemm", ["x", "W"], ["z"], transB=1)], W=weight))
    dtype = {TensorProto.DOUBLE: "float64", TensorProto.FLOAT16: "float16", TensorProto.BFLOAT16: "bfloat16"}[kind]
    expected = torch.from_numpy(W).to(getattr(torch, dtype)).double().numpy()
    np.testing.assert_array_equal(layer.weight, expected)
    assert layer.dtype == dtype


# Several outputs


def test_an_output_called_logits_is_the_output(tmp_path):
    nodes = [node("Gemm", ["x", "V"], ["hidden"]), node("Gemm", ["hidden", "W", "b"], ["logits"], transB=1)]
    layer = read_layer(save(tmp_path / "m.onnx", nodes, ("hidden", "logits"), W=W, b=B, V=np.eye(3, dtype=np.float32)))
    assert layer.source == "W of m.onnx"


def test_several_outputs_are_asked_about(tmp_path):
    nodes = [node("Gemm", ["x", "V"], ["hidden"]), node("Gemm", ["hidden", "W", "b"], ["z"], transB=1)]
    path = save(tmp_path / "m.onnx", nodes, ("hidden", "z"), W=W, b=B, V=np.eye(3, dtype=np.float32))
    with pytest.raises(ModelFormatError, match=r"got 2, .* hidden \(weight V\), z \(weight W\): .*weight_key="):
        read_layer(path)
    assert read_layer(path, weight_key="W").n_labels == 5
    with pytest.raises(ModelFormatError, match=r"expected an output with the weight 'U' .*, got Gemm, Gemm"):
        read_layer(path, weight_key="U")


# What is refused


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("Relu", ["x"], ["z"])], "expected an output that a Gemm or MatMul with stored weights gives, got Relu"),
        ([node("MatMul", ["x", "x"], ["z"])], "got MatMul"),
        ([node("Mul", ["W", "b"], ["V"]), node("MatMul", ["x", "V"], ["z"])], "got MatMul"),
        ([node("Identity", ["x"], ["z"])], "got Identity"),
        ([node("Identity", ["z"], ["z"])], "got Identity"),
        ([node("Identity", ["v"], ["v"]), node("MatMul", ["x", "v"], ["z"])], "got MatMul"),
        ([node("MatMul", ["x"], ["z"])], "got one with nodes that lack inputs"),
        ([node("Sigmoid", [], ["z"])], "got one with nodes that lack inputs"),
        ([node("Constant", [], [], value=numpy_helper.from_array(W)), node("Relu", ["x"], ["z"])], "got Relu"),
        ([node("MatMul", ["x", "F"], ["z"])], r"expected the numbers of shape \(3, 5\) in F, got others"),
        ([node("Gemm", ["x", "x"], ["z"])], "got Gemm"),
        ([node("Add", ["x", "x"], ["z"])], "got Add"),
        ([node("MatMul", ["x", "W"], ["p"]), node("Div", ["p", "b"], ["z"])], "got Div"),
        ([node("Gemm", ["x", "W", "b"], ["z"], alpha=0.1)], "expected a Gemm without factors"),
        ([node("Gemm", ["x", "W", "b"], ["z"], transA=1)], "expected a Gemm without factors or a transposed input"),
        ([node("MatMul", ["x", "W"], ["p"]), node("Add", ["p", "C"], ["z"])], r"got C of shape \(5, 1\)"),
        ([node("MatMul", ["x", "W"], ["p"]), node("Add", ["p", "one"], ["z"])], r"the bias must have shape \(5,\)"),
        ([node("MatMul", ["x", "T"], ["z"])], r"expected a weight of two axes, got T of shape \(2, 3, 5\)"),
        ([node("MatMul", ["x", "I"], ["z"])], "expected numbers in float64, .* in I, got INT8"),
        ([node("MatMul", ["x", "N"], ["z"])], "must be finite, got nan at label 1, feature 0"),
    ],
)
def test_files_that_do_not_end_in_a_linear_layer_are_refused(tmp_path, nodes, message):
    bad = np.array([[0, np.nan]], dtype=np.float32)
    stored = {"W": W.T.copy(), "b": B, "T": np.ones((2, 3, 5), np.float32), "I": np.ones((3, 5), np.int8), "N": bad}
    stored |= {"C": B[:, None], "one": B[:1]}
    stored["F"] = TensorProto(name="F", data_type=TensorProto.FLOAT, dims=(3, 5), raw_data=b"few")
    with pytest.raises(ModelFormatError, match=f"^m.onnx: .*{message}"):
        read_layer(save(tmp_path / "m.onnx", nodes, **stored))


def test_a_file_without_outputs_and_a_damaged_one_are_refused(tmp_path):
    with pytest.raises(ModelFormatError, match="stored weights gives, got nothing"):
        read_layer(save(tmp_path / "m.onnx", [GEMM], (), W=W, b=B))
    (tmp_path / "m.onnx").write_bytes(b"nothing of the kind")
    with pytest.raises(ModelFormatError, match=r"^m.onnx: expected an ONNX model"):
        read_layer(tmp_path / "m.onnx")
    with pytest.raises(ModelFormatError, match="bias must not be given for an ONNX file"):
        read_layer(tmp_path / "m.onnx", bias=B)
    with open(tmp_path / "m.onnx", "wb") as stream:
        stream.truncate(2**32)
    with pytest.raises(ModelFormatError, match="expected at most 2147483648 bytes, got 4294967296"):
        read_layer(tmp_path / "m.onnx")


# Tensors in other files


def external(location, shape=(5, 3), kind=TensorProto.FLOAT, **entries):
    tensor = TensorProto(name="W", data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def test_a_tensor_in_another_file_of_the_folder_is_read(tmp_path):
    (tmp_path / "w.bin").write_bytes(b"head" + W.tobytes())
    layer = read_layer(save(tmp_path / "m.onnx", [GEMM], W=external("w.bin", offset=4, length=60), b=B))
    np.testing.assert_array_equal(layer.weight, W.astype(np.float64))
    half = torch.from_numpy(W).bfloat16()
    (tmp_path / "w.bin").write_bytes(half.view(torch.int16).numpy().tobytes())
    layer = read_layer(save(tmp_path / "m.onnx", [GEMM], W=external("w.bin", kind=TensorProto.BFLOAT16), b=B))
    np.testing.assert_array_equal(layer.weight, half.double().numpy())


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (external("../w.bin"), "expected the data of W in a file below the model's folder, got 'w.bin'"),
        (external("/etc/passwd"), "in a file below the model's folder, got 'passwd'"),
        (external("link"), "in a file below the model's folder"),
        (external("absent"), "in a file below the model's folder, got 'absent'"),
        (external("w.bin", offset=8), r"expected 60 bytes of W at 8 in w.bin, which is shorter"),
        (external("w.bin", offset=-8), "at -8 in w.bin"),
        (external("w.bin", (2**30, 2**30)), "must take up at most"),
        (external("w.bin", (0, 3)), r"must have shape \(n_labels, n_features\), got \(0, 3\)"),
    ],
)
def test_a_tensor_outside_the_folder_or_its_file_is_refused(tmp_path, tensor, message):
    folder = tmp_path / "model"
    folder.mkdir()
    for place in (tmp_path / "w.bin", folder / "w.bin"):
        place.write_bytes(W.tobytes())
    (folder / "link").symlink_to(tmp_path / "w.bin")
    with pytest.raises(ModelFormatError, match=message):
        read_layer(save(folder / "m.onnx", [GEMM], W=tensor, b=B))


def test_without_the_package_the_file_says_what_it_needs(tmp_path, monkeypatch):
    path = save(tmp_path / "m.onnx", [GEMM], W=W, b=B)
    monkeypatch.setattr("labelproof.foundation.optional_packages.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"reading m.onnx needs the package onnx: pip install onnx"):
        read_layer(path)
