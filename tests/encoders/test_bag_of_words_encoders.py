"""TF-IDF and hashing."""

import json
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
import torch
from every_encoder import features_of, saved_and_loaded
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

import labelproof.encoders
from labelproof.encoders.hashing import bucket_of
from labelproof.errors import ModelFormatError

TEXTS = [
    "The quick brown fox jumps over the lazy dog",
    "the dog sleeps; the fox does not, the fox jumps",
    "",
    "Überraschung im Wald: ein Fuchs! 狐狸 跑步",
    "a b c",
    "dog_house v2 dog-house 2024",
]
GOLDEN = [516370, 975635, 42724]


def as_matrix(encoder, texts):
    rows = encoder.prepare(texts)
    return scipy.sparse.csr_array((rows.values, rows.ids, rows.indptr), shape=(len(rows), encoder.n_terms)).toarray()


@pytest.mark.parametrize("ngrams", [1, 2, 3])
@pytest.mark.parametrize("sublinear", [False, True])
@pytest.mark.parametrize("lowercase", [False, True])
def test_tfidf_is_that_of_scikit_learn(ngrams, sublinear, lowercase):
    encoder = labelproof.encoders.build("tfidf", TEXTS, ngrams=ngrams, sublinear=sublinear, lowercase=lowercase)
    peer = TfidfVectorizer(ngram_range=(1, ngrams), sublinear_tf=sublinear, lowercase=lowercase).fit(TEXTS)
    assert list(encoder.vocabulary.terms) == list(peer.get_feature_names_out())
    new = [*TEXTS, "a fox unknown to the dog, the dog, the dog"]
    np.testing.assert_allclose(as_matrix(encoder, new), peer.transform(new).toarray(), atol=1e-7)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(st.sampled_from("ab cÄ\n.ſ狐\ud800"), max_size=30), min_size=1, max_size=8))
def test_tfidf_is_that_of_scikit_learn_on_any_text(texts):
    texts = [*texts, "one word"]
    encoder = labelproof.encoders.build("tfidf", texts, ngrams=2, hidden=2)
    peer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit(texts)
    assert list(encoder.vocabulary.terms) == list(peer.get_feature_names_out())
    np.testing.assert_allclose(as_matrix(encoder, texts), peer.transform(texts).toarray(), atol=1e-7)


def test_the_vocabulary_keeps_the_terms_of_the_most_texts_and_then_the_first_in_the_alphabet():
    texts = ["dog dog dog dog", "fox cat", "fox bat", "cat owl"]
    encoder = labelproof.encoders.build("tfidf", texts, max_features=3)
    assert encoder.vocabulary.terms == ("bat", "cat", "fox")
    assert labelproof.encoders.build("tfidf", texts, min_df=2).vocabulary.terms == ("cat", "fox")


def test_all_terms_are_kept_without_a_limit():
    texts = [f"word{i}" for i in range(60)]
    assert labelproof.encoders.build("tfidf", texts, max_features=None).n_terms == 60
    assert labelproof.encoders.build("tfidf", texts, max_features=50).n_terms == 50


@pytest.mark.parametrize("kind", ["tfidf", "hashing"])
def test_the_output_is_the_weighted_sum_of_embeddings_with_relu(kind):
    encoder = labelproof.encoders.build(kind, TEXTS, hidden=6)
    rows = encoder.prepare(TEXTS)
    n_inputs = encoder.bag.weight.shape[0]
    matrix = scipy.sparse.csr_array((rows.values, rows.ids, rows.indptr), shape=(len(TEXTS), n_inputs))
    expected = np.maximum(matrix @ encoder.bag.weight.detach().numpy() + encoder.bag.bias.detach().numpy(), 0)
    np.testing.assert_allclose(features_of(encoder, TEXTS).numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["tfidf", "hashing"])
def test_without_a_hidden_layer_the_output_is_the_terms_themselves(kind, tmp_path):
    encoder = labelproof.encoders.build(kind, TEXTS, hidden=None)
    rows = encoder.prepare(TEXTS)
    matrix = scipy.sparse.csr_array((rows.values, rows.ids, rows.indptr), shape=(len(TEXTS), encoder.width))
    np.testing.assert_array_equal(features_of(encoder, TEXTS).numpy(), matrix.toarray())
    assert not list(encoder.parameters())
    again = saved_and_loaded(encoder, tmp_path / "encoder")
    assert torch.equal(features_of(again, TEXTS), features_of(encoder, TEXTS))


@pytest.mark.parametrize("kind", ["tfidf", "hashing"])
def test_empty_texts_and_unknown_words_give_the_bias(kind):
    encoder = labelproof.encoders.build(kind, TEXTS, hidden=6)
    torch.nn.init.uniform_(encoder.bag.bias)
    silent = ["", " \n", "a . !"] + (["zebra"] if kind == "tfidf" else [])
    torch.testing.assert_close(features_of(encoder, silent), encoder.bag.bias.detach().expand(len(silent), 6))


def test_a_hashed_word_has_the_same_bucket_in_every_process_and_on_every_machine():
    assert [bucket_of(term, 2**20) for term in ("fox", "狐", "")] == GOLDEN


def test_buckets_are_used_evenly():
    counts = np.bincount([bucket_of(f"word{i}", 16) for i in range(16_000)], minlength=16)
    assert (abs(counts - 1000) < 5 * np.sqrt(1000)).all()


def test_a_hash_takes_half_a_surrogate_pair():
    assert 0 <= bucket_of("\ud800", 10) < 10


def test_a_saved_vocabulary_keeps_every_character(tmp_path):
    encoder = labelproof.encoders.build("tfidf", [*TEXTS, "half\ud800 \U0001d7d8\U0001d7d8"], ngrams=2)
    loaded = saved_and_loaded(encoder, tmp_path / "encoder")
    assert loaded.vocabulary.terms == encoder.vocabulary.terms
    assert np.array_equal(loaded.term_weights(), encoder.term_weights())


def test_texts_without_any_word_teach_no_vocabulary():
    with pytest.raises(ValueError, match="a word that is in at least 1 of the texts, got none in 2 texts"):
        labelproof.encoders.build("tfidf", ["", "a"])
    with pytest.raises(ValueError, match="a word that is in at least 2 of the texts, got none in 1 texts"):
        labelproof.encoders.build("tfidf", ["once"], min_df=2)


@pytest.mark.parametrize("kind", ["tfidf", "hashing", "cnn"])
def test_preparing_many_texts_takes_little_more_memory_than_the_rows(kind):
    texts = [f"text{i % 7} number{i} of{i % 11} many{i % 13} short ones" for i in range(20_000)]
    encoder = labelproof.encoders.build(kind, texts[:100])
    tracemalloc.start()
    rows = encoder.prepare(texts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    arrays = (rows.indptr, rows.ids, rows.values)
    # The arrays grow by an eighth at a time and may be copied when they do; hashing remembers recent words.
    assert peak < 2.5 * sum(array.nbytes for array in arrays if array is not None) + (8e6 if kind == "hashing" else 1e6)


def good_vocabulary(tmp_path):
    encoder = labelproof.encoders.build("tfidf", ["one two", "two"], hidden=2)
    encoder.save_files(tmp_path)
    return encoder.description(), tmp_path / "vocabulary.json"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"terms": ["one"]}, "expected 2 different terms, got 1"),
        ({"terms": ["one", "one"]}, "expected 2 different terms, got 1"),
        ({"terms": ["one", 2]}, "expected terms to be a list of strings"),
        ({"terms": "one"}, "expected terms to be a list of strings"),
        ({"n_documents": 0}, "expected n_documents to be a positive integer, got 0"),
        ({"n_documents": True}, "expected n_documents to be a positive integer, got True"),
        ({"n_documents": 2**70}, "expected n_documents to be a positive integer"),
        ({"document_frequency": [1]}, "expected document_frequency to hold 2 integers from 1 to 2"),
        ({"document_frequency": [1, 3]}, "expected document_frequency to hold 2 integers from 1 to 2"),
        ({"document_frequency": [1, 1.5]}, "expected document_frequency to hold 2 integers from 1 to 2"),
        ({"more": 1}, "expected an object of document_frequency, n_documents, terms"),
    ],
)
def test_a_tampered_vocabulary_is_refused(tmp_path, change, message):
    description, path = good_vocabulary(tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ModelFormatError, match=f"vocabulary.json: {message}"):
        labelproof.encoders.load(description, tmp_path)


@pytest.mark.parametrize("content", [b"", b"[", b"\xff\xfe", b"[" * 100_000, b"[1]"])
def test_a_vocabulary_that_is_no_json_object_is_refused(tmp_path, content):
    description, path = good_vocabulary(tmp_path)
    path.write_bytes(content)
    with pytest.raises(ModelFormatError, match=r"vocabulary.json: expected (JSON|an object|text in UTF-8)"):
        labelproof.encoders.load(description, tmp_path)


def test_a_missing_vocabulary_is_refused(tmp_path):
    description, path = good_vocabulary(tmp_path)
    path.unlink()
    with pytest.raises(ModelFormatError, match=r"vocabulary.json: no such file"):
        labelproof.encoders.load(description, tmp_path)
