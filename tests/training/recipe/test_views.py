"""Views: the features of scikit-learn's own transformers, learned from training rows alone, and a file of them."""

import json

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from in_domain import assert_in_domain
from labelproof import encoders
from labelproof.encoders.views.bases import GivenNumbers, TermCounts
from labelproof.encoders.views.leaves import Leaves
from labelproof.encoders.views.view import Block, View
from labelproof.encoders.views.view_encoder import Part, ViewsEncoder
from labelproof.encoders.views.weightings import Idf, Nystroem, Plain, Quantiles, Standard
from labelproof.errors import LabelproofError

TEXTS = ["a red fox runs", "the red wine", "fox and wine and fox", "", "runs the fox", "Red! RED, red-hot fox"]


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(("analyzer", "ngrams"), [("word", (1, 2)), ("char_wb", (2, 4))])
def test_terms_are_weighted_as_by_scikit_learn(analyzer, ngrams):
    base, counts = TermCounts.learned(TEXTS, analyzer, ngrams, least=1)
    features = Idf.learned(counts, sublinear=True, least=1).features(counts)
    expected = TfidfVectorizer(analyzer=analyzer, ngram_range=ngrams, sublinear_tf=True).fit(TEXTS)
    assert base.terms == tuple(expected.get_feature_names_out())
    np.testing.assert_allclose(features.toarray(), expected.transform(TEXTS).toarray(), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(base.matrix(TEXTS).toarray(), counts.toarray())


def test_a_term_that_one_training_text_has_does_not_count():
    counts = scipy.sparse.csr_array([[1.0, 1.0], [1.0, 0.0]])
    assert Idf.learned(counts).idf.tolist() == [1.0, 0.0]
    assert Idf.learned(counts).features(scipy.sparse.csr_array([[0.0, 3.0]])).toarray().tolist() == [[0.0, 0.0]]


def test_standardised_columns_are_those_of_scikit_learn_within_five():
    X = rng().normal(3.0, 2.0, (50, 4))
    X[:, 2] = 7.0
    found = Standard.learned(X).features(X)
    np.testing.assert_allclose(found, StandardScaler().fit_transform(X), atol=1e-12)
    assert Standard.learned(X).features(X + 1e6).max() == 5.0


def test_quantiles_are_those_of_scikit_learn_within_three():
    X = np.exp(rng().normal(size=(60, 4)))
    X[:, 1] = [-1, *X[2:, 1].round(), 99]  # many equal values; scikit-learn has the least and the largest apart
    X[:, 2] = 7.0
    peer = QuantileTransformer(n_quantiles=60, output_distribution="normal", subsample=None).fit(X[:, [0, 1, 3]])
    found, other = Quantiles.learned(X), X * 1.1 - 0.2
    for rows in (X, other):
        expected = peer.transform(rows[:, [0, 1, 3]]).clip(-3, 3)
        np.testing.assert_allclose(found.features(rows)[:, [0, 1, 3]], expected, atol=1e-9)
    assert (found.features(X)[:, 2] == 0).all()
    np.testing.assert_array_equal(found.features(scipy.sparse.csr_array(other)), found.features(other))
    assert found.features(np.array([[1e9, -1e9, 8.0, 0.0]])).tolist() == [[3.0, -3.0, 3.0, -3.0]]


@pytest.mark.parametrize("of_quantiles", [False, True])
def test_products_of_kernel_features_are_the_kernel(of_quantiles):
    X = rng().normal(size=(40, 3))
    weighting = Nystroem.learned(X, sharpness=1.0, of_quantiles=of_quantiles, most=40)
    ranked = Quantiles.learned(X).features(X) if of_quantiles else X
    features, scaled = weighting.features(X), Standard.learned(ranked).features(ranked)
    distances = ((scaled[:, None] - scaled) ** 2).sum(axis=2)
    np.testing.assert_allclose(features @ features.T, np.exp(-weighting.gamma * distances), atol=1e-4)
    assert np.abs(features).max() <= 1.001


def test_leaves_are_those_of_scikit_learn():
    X, other = rng().normal(size=(2, 50, 4))
    Y = scipy.sparse.csr_array(X[:, :2] > X[:, 2:])
    peer = ExtraTreesClassifier(20, min_samples_leaf=2, random_state=3).fit(X, Y.toarray())
    found = Leaves.grown(X, Y, n_trees=20, seed=3)
    features = found.features(other)
    assert features.shape == (50, found.width(4))
    assert (features.sum(axis=1) == 20).all()
    ours = features.indices.reshape(50, 20)
    for tree, numbers in enumerate(peer.apply(other).T):
        pairs = set(zip(ours[:, tree].tolist(), numbers.tolist(), strict=True))
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    np.testing.assert_array_equal(found.features(scipy.sparse.csr_array(other)).indices, features.indices)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("children", (0, 0), 0.0), ("children", (0, 1), 1e6), ("roots", 0, -1.0), ("value", 0, np.nan)],
)
def test_nodes_that_are_no_trees_are_refused(name, place, value):
    arrays = forest(rng().normal(size=(20, 3))).arrays()
    arrays[name][place] = value
    with pytest.raises(ValueError, match="expected"):
        Leaves.from_arrays(arrays)


def test_trees_that_ask_for_further_columns_are_refused():
    with pytest.raises(ValueError, match="trees of 1 columns"):
        forest(rng().normal(size=(40, 3))).width(1)
    arrays = forest(rng().normal(size=(20, 3))).arrays()
    with pytest.raises(ValueError, match="other shapes"):
        Leaves.from_arrays(arrays | {"column": arrays["column"][:-1]})


def test_a_missing_value_is_the_mean_and_told_by_a_column():
    X = np.array([[1.0, np.nan, 5.0], [3.0, 4.0, 5.0]])
    base = GivenNumbers.learned(X)
    assert base.width == 4
    assert base.matrix(X).tolist() == [[1.0, 4.0, 5.0, 1.0], [3.0, 4.0, 5.0, 0.0]]
    assert base.matrix(np.array([[np.nan, 1.0, 2.0]])).tolist() == [[2.0, 1.0, 2.0, 0.0]]
    with pytest.raises(ValueError, match=r"inputs must have shape \(n_examples, 3\), got \(1, 2\)"):
        base.matrix(np.array([[np.nan, 1.0]]))
    sparse = scipy.sparse.csr_array([[0.0, 4.0, 0.0]])
    assert base.matrix(sparse).tolist() == [[0.0, 4.0, 0.0, 0.0]]


def text_encoder():
    words, counts = TermCounts.learned(TEXTS, "word", (1, 1), least=1)
    letters, runs = TermCounts.learned(TEXTS, "char_wb", (2, 3), least=1)
    both = View((Block(0, Idf.learned(counts), 0.5), Block(1, Idf.learned(runs), 0.5)), is_sparse=True)
    alone = View((Block(0, Plain(), 1.0),), is_sparse=True)
    return ViewsEncoder([words, letters], [both, alone], [Part(0), Part(1, 5)])


def number_encoder():
    X = rng().normal(size=(30, 4))
    X[0, 0] = np.nan
    base = GivenNumbers.learned(X)
    rows = base.matrix(X)
    views = [
        View((Block(0, Standard.learned(rows)),), is_sparse=False),
        View((Block(0, Quantiles.learned(rows)),), is_sparse=False),
        View((Block(0, Nystroem.learned(rows, sharpness=0.5, most=10)),), is_sparse=False),
        View((Block(0, forest(rows)),), is_sparse=True),
    ]
    return ViewsEncoder([base], views, [Part(1), Part(0, 3), Part(2), Part(3), Part(0)]), X


def forest(rows):
    return Leaves.grown(rows, scipy.sparse.csr_array(rows[:, :2] > 0), n_trees=3)


def drawn(encoder):
    """Give the hidden layers some weights."""
    for layer in encoder.hidden:
        torch.nn.init.normal_(layer.weight)
        torch.nn.init.normal_(layer.bias)
    return encoder.eval()


@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_products_are_those_of_the_features_and_the_weight(kind):
    encoder, inputs = (text_encoder(), TEXTS) if kind == "texts" else number_encoder()
    drawn(encoder)
    prepared, rows = encoder.prepare(inputs), np.array([4, 0, 2])
    weight = torch.nn.Parameter(torch.randn(7, encoder.width, generator=torch.Generator().manual_seed(0)))
    with torch.inference_mode():
        features = encoder(*encoder.collate(prepared, rows))
        expected = features.double() @ weight.double().T
    scale = float((features.abs() @ weight.detach().abs().T).max())
    np.testing.assert_allclose(encoder.products(prepared, rows, weight), expected, atol=encoder.width * 2e-7 * scale)
    with torch.no_grad():
        weight.mul_(2)
    np.testing.assert_allclose(
        encoder.products(prepared, rows, weight), 2 * expected, atol=encoder.width * 4e-7 * scale
    )


@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_features_are_within_the_domain_that_is_told(kind):
    encoder, inputs = (text_encoder(), TEXTS) if kind == "texts" else number_encoder()
    drawn(encoder)
    with torch.inference_mode():
        features = encoder(*encoder.collate(encoder.prepare(inputs), np.arange(len(inputs)))).numpy()
    assert features.shape[1] == encoder.width
    assert_in_domain(features, encoder.domain())


@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_a_saved_encoder_is_the_same(kind, tmp_path):
    encoder, inputs = (text_encoder(), TEXTS) if kind == "texts" else number_encoder()
    drawn(encoder).save_files(tmp_path)
    described = json.loads(json.dumps(encoder.description()))
    again = encoders.load(described, tmp_path)
    again.load_state_dict(encoder.state_dict())
    rows = np.arange(len(inputs))
    with torch.inference_mode():
        pair = [one(*one.collate(one.prepare(inputs), rows)) for one in (encoder, again.eval())]
    assert torch.equal(*pair)
    assert again.input_kind == encoder.input_kind


def test_a_damaged_encoder_is_refused(tmp_path):
    same_term_twice = [{"kind": "terms", "analyzer": "word", "ngrams": [1, 1], "terms": ["a", "a"]}] * 2
    block = {"base": 0, "weighting": "idf", "scale": 1.0}
    for facts, files in (
        ({"views": [{"sparse": True, "blocks": [block | {"base": 9}]}]}, {}),
        ({"views": [{"sparse": True, "blocks": [block | {"weighting": "other"}]}]}, {}),
        ({"parts": []}, {}),
        ({"parts": [{"view": 5, "hidden": None}]}, {}),
        ({}, {"bases.json": None}),
        ({}, {"bases.json": b'[{"kind": "terms"}]'}),
        ({}, {"bases.json": json.dumps(same_term_twice).encode()}),
        ({}, {"weightings.npz": b"no archive"}),
    ):
        encoder = text_encoder()
        encoder.save_files(tmp_path)
        for name, content in files.items():
            (tmp_path / name).unlink() if content is None else (tmp_path / name).write_bytes(content)
        with pytest.raises(LabelproofError):
            encoders.load({**encoder.description(), **facts}, tmp_path)


def test_views_cannot_be_asked_for_alone():
    with pytest.raises(ValueError, match=r"chosen by head\.kind 'auto'"):
        encoders.build("views", TEXTS)


def test_a_missing_value_of_sparse_features_is_the_mean_with_a_column_that_says_so():
    dense = np.array([[1.0, 0.0, np.nan], [0.0, 2.0, 4.0], [5.0, 0.0, 0.0]])
    sparse = scipy.sparse.csr_array(dense)
    base = GivenNumbers.learned(sparse)
    np.testing.assert_allclose(base.means, [2, 2 / 3, 2])
    assert scipy.sparse.issparse(base.matrix(sparse))
    np.testing.assert_allclose(base.matrix(sparse).toarray(), GivenNumbers.learned(dense).matrix(dense))
    new = scipy.sparse.csr_array(np.array([[np.nan, 0.0, 3.0]]))
    np.testing.assert_allclose(base.matrix(new).toarray(), [[2, 0, 3, 0]])
