"""Given token vectors, pooled."""

import json
import shutil

import numpy as np
import pytest
import torch
from every_encoder import WORDS, features_of, saved_and_loaded
from safetensors.numpy import save_file

import labelproof.encoders
from labelproof.encoders.vector_files import read_word_vectors
from labelproof.errors import ModelFormatError

TEXTS = ["the fox jumps", "", "Zebra yak", "The DOG sleeps, and the fox..."]


@pytest.fixture
def directory(tmp_path):
    """A directory with a tokenizer and a matrix of vectors of half precision."""
    from tiny_models import tokenizer

    folder = tmp_path / "static"
    folder.mkdir()
    tokenizer().save(str(folder / "tokenizer.json"))
    vectors = np.random.default_rng(0).normal(size=(14, 5)).astype(np.float16)
    save_file({"embeddings": vectors, "weights": np.ones(14, np.float32)}, folder / "model.safetensors")
    return folder, vectors.astype(np.float32)


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_word_vectors_are_pooled_over_the_known_words(glove, frozen, pooling):
    given = read_word_vectors(glove)
    vector = dict(zip(given.words, given.vectors, strict=True))
    encoder = labelproof.encoders.build("static", TEXTS, path=str(glove), frozen=frozen, pooling=pooling)
    output = features_of(encoder, TEXTS).numpy()
    for row, words in enumerate([["the", "fox", "jumps"], [], [], ["the", "dog", "sleeps", "and", "the", "fox"]]):
        known = [vector[word] for word in words] or [np.zeros(6, np.float32)]
        np.testing.assert_allclose(output[row], getattr(np, pooling)(known, axis=0), atol=1e-6)


def test_token_vectors_of_a_directory_are_those_of_the_tokenizers_numbers(directory):
    folder, vectors = directory
    encoder = labelproof.encoders.build("static", TEXTS, path=str(folder))
    tokens = [[4, 5, 6], [], [], [4, 8, 10, 12, 4, 5]]  # unknown words and punctuation do not count
    expected = [vectors[row].mean(axis=0) if row else np.zeros(5) for row in tokens]
    np.testing.assert_allclose(features_of(encoder, TEXTS).numpy(), expected, atol=1e-6)


def test_a_tokenizers_own_padding_and_truncation_do_not_count(directory, tmp_path):
    from tiny_models import tokenizer

    folder, _ = directory
    expected = features_of(labelproof.encoders.build("static", [], path=str(folder)), TEXTS)
    changed = tokenizer()
    changed.enable_padding(length=9)
    changed.enable_truncation(2)
    changed.save(str(folder / "tokenizer.json"))
    torch.testing.assert_close(features_of(labelproof.encoders.build("static", [], path=str(folder)), TEXTS), expected)


@pytest.mark.parametrize("frozen", [True, False])
def test_a_directory_is_saved_with_its_tokenizer(directory, tmp_path, frozen):
    folder, _ = directory
    encoder = labelproof.encoders.build("static", TEXTS, path=str(folder), frozen=frozen)
    loaded = saved_and_loaded(encoder, tmp_path / "saved")
    shutil.rmtree(folder)
    assert torch.equal(features_of(loaded, TEXTS), features_of(encoder, TEXTS))
    assert [path.name for path in (tmp_path / "saved").iterdir()] == ["tokenizer.json"]


def test_an_npz_file_beside_the_tokenizer_is_read_as_well(directory):
    folder, vectors = directory
    (folder / "model.safetensors").unlink()
    np.savez(folder / "vectors.npz", vectors)
    assert np.array_equal(labelproof.encoders.build("static", [], path=str(folder)).model.weight.numpy(), vectors)


def test_texts_are_cut_off_and_fewer_words_are_read(glove):
    encoder = labelproof.encoders.build("static", [], path=str(glove), max_tokens=2, max_words=2)
    assert encoder.tokens == ("the", "fox")
    assert np.diff(encoder.read(["the fox the fox", "dog the dog"]).indptr).tolist() == [2, 1]


def test_upper_case_may_be_kept(tmp_path):
    (tmp_path / "vectors.txt").write_text("Fox 1\nfox 2\n")
    encoder = labelproof.encoders.build("static", [], path=str(tmp_path / "vectors.txt"), lowercase=False)
    assert features_of(encoder, ["Fox", "fox", "FOX"]).flatten().tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json: no such file"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "tokenizer.json: expected a tokenizer, got"),
        (lambda folder: (folder / "tokenizer.json").write_bytes(b"\xff"), "tokenizer.json: expected text in UTF-8"),
        (lambda folder: (folder / "model.safetensors").unlink(), "expected one .safetensors or .npz file .*, got none"),
        (lambda folder: np.savez(folder / "more.npz", np.eye(2)), "got model.safetensors, more.npz"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x"), "expected a file of word vectors, got"),
        (
            lambda folder: save_file({"a": np.eye(14), "b": np.eye(14)}, folder / "model.safetensors"),
            "expected one matrix of token vectors, got a, b",
        ),
        (
            lambda folder: save_file({"a": np.full((14, 2), np.nan)}, folder / "model.safetensors"),
            "expected vectors of finite numbers",
        ),
        (
            lambda folder: save_file({"a": np.eye(5)}, folder / "model.safetensors"),
            "tokenizer.json: expected tokens below 5, the number of vectors, got 13",
        ),
    ],
)
def test_a_damaged_directory_is_refused(directory, fault, message):
    folder, _ = directory
    fault(folder)
    with pytest.raises(ModelFormatError, match=message):
        labelproof.encoders.build("static", [], path=str(folder))


def test_a_directory_without_a_matrix_of_two_dimensions_is_refused(directory):
    folder, _ = directory
    save_file({"a": np.ones(3)}, folder / "model.safetensors")
    with pytest.raises(ModelFormatError, match="expected one matrix of token vectors, got none"):
        labelproof.encoders.build("static", [], path=str(folder))


def test_a_missing_path_is_refused(tmp_path):
    with pytest.raises(ModelFormatError, match="nowhere: no such file"):
        labelproof.encoders.build("static", [], path=str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "words.json: no such file"),
        ("[", "words.json: expected JSON"),
        ('{"the": 1}', "words.json: expected a list of strings"),
        (json.dumps([*WORDS[1:], 5]), "words.json: expected a list of strings"),
        (json.dumps(WORDS[1:]), "words.json: expected 10 different words, got 9"),
        (json.dumps([*WORDS[1:], WORDS[1]]), "words.json: expected 10 different words, got 9"),
    ],
)
def test_tampered_words_are_refused(glove, tmp_path, content, message):
    description = labelproof.encoders.build("static", [], path=str(glove)).description()
    if content is not None:
        (tmp_path / "words.json").write_text(content)
    with pytest.raises(ModelFormatError, match=message):
        labelproof.encoders.load(description, tmp_path)


def test_a_tampered_description_is_refused(glove, tmp_path):
    encoder = labelproof.encoders.build("static", [], path=str(glove))
    encoder.save_files(tmp_path)
    for change, message in [
        ({"splits": "letters"}, "splits must be 'words' or 'tokens', got 'letters'"),
        ({"splits": "tokens"}, "tokenizer.json: no such file"),
        ({"dim": 0}, "dim must be an integer of at least 1, got 0"),
        ({"n_tokens": "10"}, "n_tokens must be an integer of at least 1, got '10'"),
    ]:
        with pytest.raises(ModelFormatError, match=message):
            labelproof.encoders.load(encoder.description() | change, tmp_path)
