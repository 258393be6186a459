"""What holds for every kind of encoder."""

import json
import pickle
import re

import numpy as np
import pytest
import torch
from every_encoder import features_of, gradients, saved_and_loaded

import labelproof.encoders
from labelproof.errors import ModelFormatError

TEXTS = ["the fox jumps over the dog", "", "a dog sleeps", "fox " * 50, "unheard of", "the dog and the fox"]
MATRIX = np.random.default_rng(0).normal(size=(6, 5))
CASES = {
    "features": {"hidden": 4, "standardise": True, "dropout": 0.5},
    "tfidf": {"hidden": 4, "ngrams": 2},
    "hashing": {"hidden": 4, "n_buckets": 64},
    "cnn": {"dim": 6, "maps": 4},
    "gru": {"dim": 6, "hidden": 4},
    "pair": {"dim": 6, "hidden": 4},
    "static": {"path": "glove", "hidden": 4, "activation": "tanh", "dropout": 0.5},
    "static, trained": {"path": "glove", "hidden": 4, "frozen": False, "dropout": 0.5},
    "transformer": {"path": "bert", "hidden": 4, "activation": "tanh", "dropout": 0.5},
    "transformer, trained": {"path": "bert", "hidden": 4, "frozen": False, "dropout": 0.5},
    "image": {"path": "vit", "hidden": 4, "activation": "tanh", "dropout": 0.5},
    "image, trained": {"path": "vit", "hidden": 4, "frozen": False, "dropout": 0.5},
}
KIND = {case: case.removesuffix(", trained") for case in CASES}
every_case = pytest.mark.parametrize("case", CASES)
every_text_case = pytest.mark.parametrize("case", [case for case in CASES if KIND[case] not in ("features", "image")])


@pytest.fixture
def inputs(case, pictures):
    pairs = [f"{first}\n\n{second}" for first, second in zip(TEXTS, TEXTS[::-1], strict=True)]
    return {"features": MATRIX, "image": pictures, "pair": pairs}.get(KIND[case], TEXTS)


@pytest.fixture
def options(case, models, glove):
    options = dict(CASES[case])
    if "path" in options:
        options["path"] = str(glove if options["path"] == "glove" else models(options["path"])[0])
    return options


@pytest.fixture
def built(case, inputs, options):
    """A function from a seed to the encoder of the case."""

    def build(seed=0):
        torch.manual_seed(seed)
        return labelproof.encoders.build(KIND[case], inputs, **options)

    return build


@pytest.fixture
def encoder(built):
    return built()


@every_case
def test_the_output_has_the_encoders_width(encoder, inputs, case):
    output = features_of(encoder, inputs)
    assert output.shape == (6, encoder.width)
    assert output.dtype == torch.float32
    assert output.isfinite().all()
    assert encoder.kind == KIND[case]
    assert len(encoder.prepare(inputs)) == 6


@every_case
def test_a_batch_is_made_of_the_rows_that_were_asked_for(encoder, inputs):
    rows = np.array([4, 0, 4, 1])
    torch.testing.assert_close(features_of(encoder, inputs, rows), features_of(encoder, inputs)[rows])


@every_case
def test_no_inputs_and_no_rows_give_no_features(encoder, inputs):
    assert features_of(encoder, inputs, np.empty(0, np.int64)).shape == (0, encoder.width)
    assert features_of(encoder, inputs[:0]).shape == (0, encoder.width)


@every_case
def test_every_parameter_that_is_not_frozen_gets_a_gradient(encoder, inputs, case):
    reached = gradients(encoder, inputs)
    assert reached == {name for name, p in encoder.named_parameters() if p.requires_grad}
    models_own = {name for name in reached if name.startswith("model.")}
    assert bool(models_own) == (case.endswith(", trained"))
    assert len(list(encoder.pretrained_parameters())) == len(models_own)


@every_case
def test_the_same_seed_gives_the_same_encoder_and_another_seed_another(built):
    first, again, other = (built(seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


@every_case
def test_saved_and_loaded_gives_the_same_output_to_the_last_bit(encoder, inputs, tmp_path):
    loaded = saved_and_loaded(encoder, tmp_path / "encoder")
    assert torch.equal(features_of(loaded, inputs), features_of(encoder, inputs))
    assert loaded.description() == encoder.description()
    trained = {name for name, p in encoder.named_parameters() if p.requires_grad}
    assert {name for name, p in loaded.named_parameters() if p.requires_grad} == trained


@every_case
def test_what_is_saved_names_no_path_and_holds_no_pickle(encoder, case, options, tmp_path):
    encoder.save_files(tmp_path)
    description = json.dumps(encoder.description())
    assert json.loads(description) == encoder.description()
    assert encoder.description()["kind"] == KIND[case]
    for content in [description, *(path.read_text() for path in tmp_path.iterdir() if path.suffix != ".npz")]:
        assert options.get("path", "/tmp") not in content  # noqa: S108 - looked for, not used
    assert {path.suffix for path in tmp_path.iterdir()} <= {".json", ".npz"}


@every_case
def test_dropout_acts_in_training_alone(encoder, inputs):
    batch = encoder.collate(encoder.prepare(inputs), np.arange(6))
    encoder.eval()
    assert torch.equal(encoder(*batch), encoder(*batch))
    encoder.train()
    assert not torch.equal(encoder(*batch), encoder(*batch))


@every_case
def test_what_is_prepared_does_not_depend_on_the_mode(encoder, inputs):
    torch.testing.assert_close(
        encoder.train().collate(encoder.prepare(inputs), np.arange(6)),
        encoder.eval().collate(encoder.prepare(inputs), np.arange(6)),
        atol=0,
        rtol=0,
    )


@every_case
def test_an_unknown_option_is_refused_with_the_nearest_name(case, inputs):
    with pytest.raises(ValueError, match=r"droput is no option here: did you mean dropout\?"):
        labelproof.encoders.build(KIND[case], inputs, droput=0.5)


@every_case
def test_whole_numbers_may_be_those_of_numpy(case, inputs, options):
    whole = {name: np.int64(value) if type(value) is int else value for name, value in options.items()}
    description = labelproof.encoders.build(KIND[case], inputs, **whole).description()
    assert json.loads(json.dumps(description)) == description


def test_a_description_of_what_memory_cannot_hold_is_refused(tmp_path):
    description = labelproof.encoders.build("features", MATRIX, hidden=2).description()
    with pytest.raises(ModelFormatError, match="the description of the features encoder is wrong: "):
        labelproof.encoders.load(description | {"n_features": 2**60}, tmp_path)


@every_case
def test_an_encoder_and_what_it_prepared_can_be_sent_to_another_process(encoder, inputs):
    again, prepared = pickle.loads(pickle.dumps((encoder, encoder.prepare(inputs))))  # noqa: S301 - our own bytes
    batch = again.eval().collate(prepared, np.arange(6))
    assert torch.equal(again(*batch), features_of(encoder, inputs))


WRONG = {
    "features": {"dropout": 1.0, "hidden": 0, "standardise": 1},
    "tfidf": {"dropout": -0.1, "hidden": 2.5, "ngrams": 0, "sublinear": None, "max_features": 0, "min_df": 0},
    "hashing": {"dropout": "0.5", "lowercase": "yes", "n_buckets": 2**31},
    "cnn": {
        "dim": 0,
        "vectors": 5,
        "max_tokens": 0,
        "max_words": 0,
        "train_vectors": 1,
        "maps": 0,
        "kernel": 0,
        "dropout": True,
    },
    "gru": {"hidden": 0, "bidirectional": "both", "pooling": "sum", "lowercase": 1, "min_df": -1},
    "pair": {"hidden": 0, "attention": "hard", "dim": 0, "dropout": 1.0},
    "static": {"path": 5, "pooling": "cls", "max_tokens": 0, "max_words": 0, "frozen": 0, "activation": "gelu"},
    "transformer": {"path": b"x", "pooling": ["cls"], "max_tokens": 0, "batch_size": 0, "hidden": 0},
    "image": {"pooling": "max", "max_pixels": 0, "dropout": float("nan"), "module": "resnet"},
}


@pytest.mark.parametrize(("case", "name"), [(kind, name) for kind, wrong in WRONG.items() for name in wrong])
def test_a_wrong_option_is_refused_by_name(case, name, inputs):
    value = WRONG[case][name]
    with pytest.raises(ValueError, match=rf"{name} must .*, got {re.escape(repr(value))}|module must .*, got str"):
        labelproof.encoders.build(case, inputs, **{name: value})


@every_case
def test_a_description_with_an_entry_too_many_or_too_few_is_refused(encoder, case, tmp_path):
    encoder.save_files(tmp_path)
    description = encoder.description()
    of_kind = f"the description of the {KIND[case]} encoder"
    with pytest.raises(ModelFormatError, match=rf"{of_kind} has an unknown entry droput: did you mean"):
        labelproof.encoders.load(description | {"droput": 0.5}, tmp_path)
    for name in description.keys() - {"kind"}:
        rest = {key: value for key, value in description.items() if key != name}
        with pytest.raises(ModelFormatError, match=rf"{of_kind} lacks the entry {name}$"):
            labelproof.encoders.load(rest, tmp_path)
    with pytest.raises(ModelFormatError, match=rf"{of_kind} is wrong: dropout must be"):
        labelproof.encoders.load(description | {"dropout": 2}, tmp_path)


NO_TEXTS = [
    (["a text", None], r"inputs must be texts, got None \(NoneType\) at place 1"),
    ([b"bytes"], r"inputs must be texts, got b'bytes' \(bytes\) at place 0"),
    ("one text", "inputs must be a list of texts, got str"),
    (5, "inputs must be a list of texts, got int"),
    (["x", list(range(99))], r"inputs must be texts, got \[0, 1, 2.*\.\.\. \(list\) at place 1"),
]


@every_text_case
def test_what_is_no_list_of_texts_is_refused(encoder, case, options):
    for wrong, message in NO_TEXTS:
        with pytest.raises(ValueError, match=message):
            encoder.prepare(wrong)
        with pytest.raises(ValueError, match=message):
            labelproof.encoders.build(KIND[case], wrong, **options)


@every_text_case
def test_texts_may_come_as_a_tuple_an_array_or_a_generator(encoder):
    expected = features_of(encoder, TEXTS)
    for form in (tuple(TEXTS), np.array(TEXTS), (text for text in TEXTS)):
        assert torch.equal(features_of(encoder, form), expected)


@every_text_case
def test_a_text_has_the_same_features_alone_and_beside_longer_ones(encoder):
    together = features_of(encoder, TEXTS)
    for i, text in enumerate(TEXTS):
        torch.testing.assert_close(features_of(encoder, [text]), together[i : i + 1], atol=1e-6, rtol=1e-5)


def test_an_unknown_kind_is_refused_with_the_nearest_name(tmp_path):
    with pytest.raises(ValueError, match=r"'tf-idf' is no kind of encoder: did you mean tfidf\?"):
        labelproof.encoders.build("tf-idf", TEXTS)
    with pytest.raises(ValueError, match=r"\[\] is no kind of encoder: expected one of features, "):
        labelproof.encoders.build([], TEXTS)
    for description in ({"kind": "bert"}, {}, [], {"kind": [0]}):
        with pytest.raises(ModelFormatError, match=r"the encoder is of an unknown kind .*: expected one of features, "):
            labelproof.encoders.load(description, tmp_path)


@pytest.mark.parametrize("kind", ["static", "transformer"])
def test_a_pretrained_encoder_needs_a_path(kind):
    with pytest.raises(ValueError, match=r"path must name .*, got None"):
        labelproof.encoders.build(kind, TEXTS)


def test_every_kind_is_in_these_tests():
    assert set(KIND.values()) == set(WRONG) == set(labelproof.encoders.KINDS) - {"views"}  # which the recipe chooses
