"""The output layer of Keras models, live and from .keras files, which are read without Keras."""

import io
import json
import subprocess
import sys
import zipfile

import h5py
import keras
import numpy as np
import pytest
from keras import layers

import labelproof as lp
from labelproof import keras3
from labelproof.errors import ModelFormatError
from labelproof.importers import layer_of, read_layer

WIDEST = "float32" if keras.backend.backend() == "jax" else "float64"  # which JAX leaves out by default


def chain(*parts, n=6):
    """A model of these layers; the last Dense layer is called out."""
    return keras.Sequential([keras.Input((n,)), *parts])


def both(model, folder, **options):
    """The layer of a live model, and that of its file, which must be the same."""
    live = layer_of(model, **options)
    model.save(folder / "m.keras")
    stored = read_layer(folder / "m.keras", **options)
    np.testing.assert_array_equal(stored.weight, live.weight)
    np.testing.assert_array_equal(stored.bias, live.bias)
    for fact in ("dtype", "before", "domain_reason", "rule", "size", "notes"):
        assert getattr(stored, fact) == getattr(live, fact), fact
    assert stored.source == f"{live.source} of m.keras"
    return stored


@pytest.mark.parametrize(
    ("last", "rule", "size"),
    [
        ([layers.Dense(5, activation="sigmoid")], "sigmoid", None),
        ([layers.Dense(5)], "sigmoid", None),
        ([layers.Dense(5, activation="softmax")], "topk", 1),
        ([layers.Dense(5), layers.Dropout(0.1), layers.Activation("softmax")], "topk", 1),
        ([layers.Dense(5), layers.Softmax()], "topk", 1),
        ([layers.Dense(5, use_bias=False, activation="sparsemax")], "sparsemax", None),
        ([layers.Dense(5), keras3.Sparsemax()], "sparsemax", None),
        ([layers.Dense(5, activation=keras3.sparsemax)], "sparsemax", None),
    ],
)
def test_the_activation_tells_the_rule(tmp_path, last, rule, size):
    model = chain(layers.Dense(4, activation="relu"), *last)
    found = both(model, tmp_path)
    kernel = model.layers[1].kernel
    np.testing.assert_array_equal(found.weight, keras.ops.convert_to_numpy(kernel).T)
    assert (found.rule, found.size, found.domain) == (rule, size, "nonnegative")
    assert found.kind == "Keras file"


def test_a_cross_entropy_of_logits_tells_a_softmax(tmp_path):
    model = chain(layers.Dense(5))
    model.compile("adam", keras.losses.CategoricalCrossentropy(from_logits=True))
    found = both(model, tmp_path)
    assert (found.rule, found.size) == ("topk", 1)
    assert found.notes == (
        "The model was compiled with the cross entropy of a softmax: it is judged by the rule topk.",
    )
    model.compile("adam", keras3.SigmoidF1Loss())
    assert both(model, tmp_path).rule == "sigmoid"


@pytest.mark.parametrize(
    ("before", "name", "domain"),
    [
        ([layers.Dense(4, activation="tanh"), layers.Dropout(0.5)], "tanh", (-1.0, 1.0)),
        ([layers.Dense(4), layers.ReLU()], "ReLU", "nonnegative"),
        ([layers.Dense(4), layers.ReLU(max_value=6)], "ReLU6", (0.0, 6.0)),
        ([layers.Dense(4), layers.ReLU(negative_slope=0.1)], None, None),
        ([layers.Dense(4), layers.Activation("gelu"), layers.Flatten()], "GELU", (-0.18, np.inf)),
        ([layers.Dense(4), layers.ELU(alpha=2)], None, None),
        ([layers.Dense(4), layers.BatchNormalization()], "BatchNorm", None),
        ([layers.Dense(4)], "a linear layer", None),
        ([layers.Dense(4, activation="exponential")], None, None),
        ([], None, None),
    ],
)
def test_what_stands_before_the_layer_bounds_features(tmp_path, before, name, domain):
    found = both(chain(*before, layers.Dense(5)), tmp_path)
    assert (found.before, found.domain) == (name, domain)


def test_a_norm_keeps_features_in_a_ball(tmp_path):
    norm = layers.LayerNormalization()
    model = chain(layers.Dense(4), norm, layers.Dense(5))
    norm.set_weights([np.array([1.0, -2, 1, 1]), np.array([0.0, 0, 1, 0])])
    found = both(model, tmp_path)
    assert found.before == "LayerNorm"
    kind, radius, centre = found.domain
    assert kind == "ball"
    assert 4 < radius < 4.01
    np.testing.assert_array_equal(centre, [0, 0, 1, 0])
    features = layer_of(model).features(100 * np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32))
    assert (np.linalg.norm(features - centre, axis=1) <= radius).all()


def test_features_of_a_live_model_give_its_logits():
    model = chain(layers.Dense(4, activation="relu"), layers.Dense(5, activation="sigmoid"))
    x = np.random.default_rng(0).normal(size=(7, 6)).astype(np.float32)
    found = layer_of(model)
    logits = found.features(x) @ found.weight.T + found.bias
    np.testing.assert_allclose(1 / (1 + np.exp(-logits)), model.predict(x, verbose=0), atol=1e-6)


def test_graphs_and_models_within_models_are_followed(tmp_path):
    inputs = keras.Input((3, 6))
    x = layers.GlobalAveragePooling1D()(layers.Dense(4, activation="sigmoid")(inputs))
    inner_in = keras.Input((4,))
    inner = keras.Model(inner_in, layers.Dense(5, name="out")(layers.Dropout(0.1)(inner_in)), name="inner")
    found = both(keras.Model(inputs, layers.Activation("sigmoid")(inner(x))), tmp_path)
    assert found.source == "inner/out of m.keras"
    assert (found.domain, found.weight.shape) == ((0.0, 1.0), (5, 4))
    joined = layers.Concatenate()([x, layers.Dense(2)(x)])
    found = both(keras.Model(inputs, layers.Dense(5)(joined)), tmp_path)
    assert (found.domain, found.weight.shape) == (None, (5, 6))


def test_numbers_are_found_without_the_names_that_newer_versions_note(tmp_path):
    model = chain(layers.Dense(4), layers.Dense(4), layers.Dense(4, name="other"))
    model.save(tmp_path / "m.keras")

    def forget(stored):
        stored.visititems(lambda _, item: item.attrs.pop("name", None) and None)

    rewrite(tmp_path / "m.keras", forget)
    expected = keras.ops.convert_to_numpy(model.layers[2].kernel).T
    np.testing.assert_array_equal(read_layer(tmp_path / "m.keras").weight, expected)


@pytest.mark.parametrize("dtype", [WIDEST, "float16", "bfloat16"])
def test_numbers_of_every_precision_are_exact(tmp_path, dtype):
    found = both(chain(layers.Dense(5, dtype=dtype, bias_initializer="normal")), tmp_path)
    assert found.dtype == dtype
    assert (found.bias != 0).any()


@pytest.mark.parametrize(
    "head",
    [
        keras3.DFTHead(30, 3, 2, order=np.arange(30)[::-1]),
        keras3.DFTHead(30, 3, 0, dtype=WIDEST),
        keras3.CodeHead(30, 2, 2),
        keras3.BottleneckHead(30, 4, bias=True),
    ],
)
def test_heads_of_our_own_are_read_and_audited(tmp_path, head):
    model = chain(layers.Dense(40), head)
    found = both(model, tmp_path)
    np.testing.assert_array_equal(found.weight, head.weight.astype(np.float64))
    alone = layer_of(head)
    np.testing.assert_array_equal(alone.weight, found.weight)
    assert alone.kind == "labelproof head for Keras"
    audited = lp.audit(model, [[0, 1], [3]])
    assert audited.document["layer"]["n_labels"] == 30


@keras.saving.register_keras_serializable(package="tests")
class OwnModel(keras.Model):
    """A model without a graph."""

    def __init__(self, **options):
        super().__init__(**options)
        self.enc, self.last = layers.Dense(4), layers.Dense(5)

    def call(self, x):
        return self.last(self.enc(x))


def test_a_model_without_a_graph_is_asked_about(tmp_path):
    model = OwnModel()
    with pytest.raises(ValueError, match="the OwnModel has no weights yet: call it on inputs first"):
        layer_of(model)
    model(np.ones((1, 6), np.float32))
    model.save(tmp_path / "m.keras")
    with pytest.raises(ModelFormatError, match=r"got the class 'OwnModel' with enc \(6×4\), last \(4×5\): say which"):
        read_layer(tmp_path / "m.keras")
    with pytest.raises(ValueError, match="got a OwnModel with enc, last: say which"):
        layer_of(model)
    stored, live = read_layer(tmp_path / "m.keras", weight_key="last"), layer_of(model, weight_key="last")
    np.testing.assert_array_equal(stored.weight, live.weight)
    assert stored.notes[0].startswith("The model is a class of its own")


def test_a_dense_layer_alone_is_read():
    layer = layers.Dense(5)
    with pytest.raises(ValueError, match="has no weights yet"):
        layer_of(layer)
    layer.build((None, 4))
    assert layer_of(layer).weight.shape == (5, 4)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([layers.Dense(5, activation="relu")], "expected one activation of the logits at most, .* got relu: if signs"),
        ([layers.Dense(5, activation="sigmoid"), layers.Softmax()], "got softmax after sigmoid"),
        ([layers.Dense(5), layers.Softmax(axis=0)], "got <another axis>"),
        ([layers.Dense(5), layers.BatchNormalization(name="bn")], r"got that of bn \(BatchNormalization\): say which"),
        ([layers.Reshape((6,))], "expected the output of a Dense layer, got that of reshape"),
        ([layers.Dense(5), layers.Lambda(lambda x: 2 * x, name="twice")], r"got that of twice \(Lambda\)"),
    ],
)
def test_an_output_that_is_not_a_dense_layers_is_refused(tmp_path, parts, message):
    model = chain(*parts)
    model.save(tmp_path / "m.keras")
    with pytest.raises(ModelFormatError, match=f"^m.keras: .*{message}"):
        read_layer(tmp_path / "m.keras")
    with pytest.raises(ValueError, match=message):
        layer_of(model)


def test_several_outputs_are_asked_about(tmp_path):
    inputs = keras.Input((6,))
    model = keras.Model(inputs, [layers.Dense(5, name="a")(inputs), layers.Dense(3, name="b")(inputs)])
    model.save(tmp_path / "m.keras")
    with pytest.raises(ModelFormatError, match="expected one output, got a, b: say which with weight_key"):
        read_layer(tmp_path / "m.keras")
    assert read_layer(tmp_path / "m.keras", weight_key="b").n_labels == 3
    with pytest.raises(ModelFormatError, match="expected the name of one Dense layer, got 'c'; there are a, b"):
        read_layer(tmp_path / "m.keras", weight_key="c")


# Files of unknown origin


@pytest.fixture
def file(tmp_path):
    chain(layers.Dense(4, activation="relu"), layers.Dense(5, name="out")).save(tmp_path / "m.keras")
    return tmp_path / "m.keras"


def rewrite(path, change_numbers=None, **members):
    """Write a file anew, with numbers that a function has changed, or members of other content (None: left out)."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    if change_numbers is not None:
        stream = io.BytesIO(content["model.weights.h5"])
        with h5py.File(stream, "a") as stored:
            change_numbers(stored)
        content["model.weights.h5"] = stream.getvalue()
    content |= {name.replace("__", "."): text for name, text in members.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            if data is not None:
                archive.writestr(name, data)


def replaced(name, **options):
    def change(stored):
        del stored[name]
        stored.create_dataset(name, **options)

    return change


def linked(link):
    def change(stored):
        del stored["layers/dense_1/vars/0"]
        stored["layers/dense_1/vars/0"] = link

    return change


KERNEL = "layers/dense_1/vars/0"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replaced(KERNEL, data=np.ones((4, 5), np.int8)), r"got int8 \(quantised\?\)"),
        (replaced(KERNEL, data=np.ones((4, 6))), r"expected a kernel \(n_features, 5\) of out"),
        (replaced(KERNEL, data=np.full((4, 5), np.nan)), "the weight must be finite, got nan"),
        (replaced(KERNEL, data=np.ones((4, 5)), chunks=(1, 5), compression="gzip"), "got another sort of data"),
        (replaced(KERNEL, shape=(2**20, 2**20), dtype="f4", chunks=(1, 5)), "got another sort of data"),
        (replaced(KERNEL, shape=(4, 5), dtype="f4"), "got a place of another size"),
        (linked(h5py.SoftLink("/layers/dense/vars/0")), "got a link or none"),
        (linked(h5py.ExternalLink("/etc/passwd", "/x")), "got a link or none"),
        (lambda stored: stored.pop("layers/dense_1"), "expected the numbers of 'dense_1' in /layers, got none"),
        (lambda stored: stored.pop("layers/dense_1/vars/1"), "expected a kernel"),
        (lambda stored: stored.pop("layers"), "expected the numbers of 'layers' in /, got none"),
    ],
)
def test_hostile_numbers_are_refused_in_a_sentence(file, change, message):
    rewrite(file, change)
    with pytest.raises(ModelFormatError, match=f"^m.keras: .*{message}"):
        read_layer(file)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"config__json": b"{"}, "expected JSON in config.json"),
        ({"config__json": b"[" * 100_000}, "expected JSON in config.json"),
        ({"config__json": b"[]"}, "expected settings in config.json, got list"),
        ({"config__json": b'{"module": "keras", "class_name": "Sequential"}'}, "got one with parts that lack settings"),
        (
            {"config__json": b'{"module": "keras", "class_name": "Sequential", "config": {"layers": [1]}}'},
            "parts that lack settings",
        ),
        ({"config__json": None}, "expected config.json in the file, as Keras 3 writes it, got metadata.json"),
        ({"metadata__json": b'{"keras_version": "2.15.0"}'}, "got one of Keras 2.15.0: save it anew with Keras 3"),
        ({"model__weights__h5": b"nothing"}, "got a damaged one"),
        ({"model__weights__h5": None}, "expected model.weights.h5 in the file"),
    ],
)
def test_hostile_members_are_refused_in_a_sentence(file, members, message):
    rewrite(file, **members)
    with pytest.raises(ModelFormatError, match=f"^m.keras: .*{message}"):
        read_layer(file)


def test_damage_anywhere_ends_in_a_result_or_a_sentence(file):
    whole, rng, ends = file.read_bytes(), np.random.default_rng(0), []
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.integers(len(whole), size=3):
            damaged[place] = rng.integers(256)
        file.write_bytes(damaged[: rng.integers(1, len(whole) + 1)] if rng.random() < 0.3 else damaged)
        try:
            read_layer(file)
        except ModelFormatError as error:
            ends.append(str(error))
    assert ends
    assert all("\n" not in sentence for sentence in ends)


def test_a_file_that_unpacks_to_far_more_is_refused(file, monkeypatch):
    monkeypatch.setattr("labelproof.importers.archives.LARGE", 2**20)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("assets/bomb", bytes(8 * 2**20))
    with pytest.raises(ModelFormatError, match=r"expected a zip file of weights, got one of .* bytes that unpacks to"):
        read_layer(file)


def test_a_bias_is_the_files_own(file):
    with pytest.raises(ModelFormatError, match="bias must not be given for a Keras file"):
        read_layer(file, bias=np.ones(5))


def test_files_are_read_without_keras_and_without_torch(file):
    code = (
        "import sys\nfrom labelproof.importers import read_layer\n"
        f"print(read_layer({str(file)!r}).source)\n"
        "print(*({'keras', 'torch', 'tensorflow', 'jax'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert answer.stdout.splitlines() == ["out of m.keras", ""]


def test_a_lambda_is_never_run(tmp_path):
    model = chain(layers.Lambda(lambda x: x + 1), layers.Dense(5))
    model.save(tmp_path / "m.keras")
    config = json.loads(zipfile.ZipFile(tmp_path / "m.keras").read("config.json"))
    config["config"]["layers"][1]["config"]["function"] = {"class_name": "__lambda__", "config": {"code": "!!"}}
    rewrite(tmp_path / "m.keras", config__json=json.dumps(config))
    found = read_layer(tmp_path / "m.keras")
    assert (found.weight.shape, found.before) == ((5, 6), None)
