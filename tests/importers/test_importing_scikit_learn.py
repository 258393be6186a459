"""Fitted scikit-learn estimators, live and saved by skops."""

import json
import zipfile

import numpy as np
import pytest
import skops.io
from made_files import write_npy_with_header
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from in_domain import assert_in_domain
from labelproof.errors import ModelFormatError
from labelproof.importers import layer_of, read_layer
from labelproof.importers.feature_domains import UNIT

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 6))
Y = (X[:, :4] + RNG.normal(size=(80, 4)) > 0.3).astype(int)
CLASS = Y.argmax(axis=1)
TEXTS = [" ".join(RNG.choice(["ant", "bee", "cat", "dog", "eel"], size=3)) for _ in range(80)]


@pytest.fixture(params=["live", "saved"])
def imported(request, tmp_path):
    """Import an estimator from memory, or from a file."""

    def of(model):
        if request.param == "live":
            return layer_of(model)
        skops.io.dump(model, tmp_path / "m.skops")
        return read_layer(tmp_path / "m.skops")

    return of


@pytest.mark.parametrize(
    "model",
    [
        OneVsRestClassifier(LogisticRegression()),
        OneVsRestClassifier(LinearSVC()),
        OneVsRestClassifier(SGDClassifier(random_state=0)),
        OneVsRestClassifier(LogisticRegression(fit_intercept=False)),
        MultiOutputClassifier(LogisticRegression()),
        MultiOutputClassifier(Perceptron()),
        RidgeClassifier(),
    ],
    ids=str,
)
def test_one_row_for_each_label_gives_the_models_own_label_sets(imported, model):
    layer = imported(model.fit(X, Y))
    bias = 0 if layer.bias is None else layer.bias
    np.testing.assert_array_equal(X @ layer.weight.T + bias > 0, model.predict(X))
    assert (layer.weight.shape, layer.rule, layer.domain, layer.label_names) == ((4, 6), "sigmoid", None, None)
    assert layer.kind == f"scikit-learn {type(model).__name__}"
    if hasattr(model, "estimators_"):
        np.testing.assert_array_equal(layer.weight, np.vstack([part.coef_ for part in model.estimators_]))
        assert (layer.bias is None) == (not getattr(model.estimator, "fit_intercept", True))


@pytest.mark.parametrize(
    "model", [LogisticRegression(), LinearSVC(), RidgeClassifier(), OneVsRestClassifier(LogisticRegression())], ids=str
)
def test_a_model_of_classes_is_judged_by_the_rule_topk(imported, model):
    names = np.array(["ant", "bee", "cat", "dog"])[CLASS]
    layer = imported(model.fit(X, names))
    scores = X @ layer.weight.T + layer.bias
    np.testing.assert_array_equal(np.array(layer.label_names)[scores.argmax(axis=1)], model.predict(X))
    assert layer.rule == "topk"
    assert "one class" in layer.notes[0]


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), OneVsRestClassifier(LinearSVC()), MLPClassifier((3,), max_iter=3, random_state=0)],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_two_classes_are_one_label(imported, model):
    names = np.where(Y[:, 0], "yes", "no")
    layer = imported(model.fit(X, names))
    np.testing.assert_array_equal(
        (layer.features(X) @ layer.weight.T + layer.bias > 0).ravel(), model.predict(X) == "yes"
    )
    assert (layer.label_names, layer.rule, layer.notes) == (("yes",), "sigmoid", ())


@pytest.mark.filterwarnings("ignore:Label not 2 is present:UserWarning", "ignore:Label 3 is present:UserWarning")
@pytest.mark.filterwarnings("ignore:Label .* is present in all training examples:UserWarning")
def test_labels_that_never_vary_are_constant(imported):
    constant = Y.copy()
    constant[:, 2], constant[:, 3] = 0, 1
    model = OneVsRestClassifier(LogisticRegression()).fit(X, constant)
    layer = imported(model)
    assert not layer.weight[2:].any()
    np.testing.assert_array_equal(layer.bias[2:], [-1, 1])
    np.testing.assert_array_equal(X @ layer.weight.T + layer.bias > 0, model.predict(X))
    assert layer.source.startswith("coef_ of 4 estimators, 2 of them constant")
    assert layer.notes[0].startswith(
        "Labels that had one value in all training data, which the model always gives: 2, 3."
    )


@pytest.mark.parametrize(
    ("activation", "domain"),
    [("relu", "nonnegative"), ("tanh", (-1.0, 1.0)), ("logistic", (0.0, 1.0)), ("identity", None)],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_hidden_activation_of_a_perceptron_bounds_the_features(imported, activation, domain):
    model = MLPClassifier((5, 3), activation=activation, max_iter=5, random_state=0).fit(X, Y)
    layer = imported(model)
    np.testing.assert_array_equal(layer.weight, model.coefs_[-1].T)
    features = layer.features(X)
    np.testing.assert_array_equal(features @ layer.weight.T + layer.bias > 0, model.predict(X))
    assert (layer.domain, layer.rule, features.shape) == (domain, "sigmoid", (80, 3))
    by_class = MLPClassifier((3,), max_iter=3, random_state=0).fit(X, CLASS)
    assert imported(by_class).rule == "topk"


# Pipelines


@pytest.mark.parametrize(
    ("steps", "before", "domain"),
    [
        ([TfidfVectorizer()], "TfidfVectorizer", ("unit", UNIT)),
        ([TfidfVectorizer(norm="l1", dtype=np.float32)], "TfidfVectorizer", ("unit", UNIT)),
        ([TfidfVectorizer(norm=None)], "TfidfVectorizer", "nonnegative"),
        ([TfidfVectorizer(), VarianceThreshold()], "TfidfVectorizer", ("unit", UNIT)),
        ([CountVectorizer(), TfidfTransformer()], "CountVectorizer", ("unit", UNIT)),
        ([CountVectorizer(), TfidfTransformer(), MaxAbsScaler()], "CountVectorizer", "nonnegative"),
        ([CountVectorizer(), Normalizer("max")], "CountVectorizer", "nonnegative"),
        ([CountVectorizer(), Normalizer()], "CountVectorizer", ("unit", UNIT + 5 * 2.0**-23)),
        ([HashingVectorizer(n_features=16, alternate_sign=False)], "HashingVectorizer", ("unit", UNIT)),
        ([HashingVectorizer(n_features=16)], "HashingVectorizer", ("ball", UNIT)),
        ([HashingVectorizer(n_features=16, norm=None)], "HashingVectorizer", None),
        ([TfidfVectorizer(), TruncatedSVD(3), Normalizer()], "TruncatedSVD", ("ball", UNIT + 3 * 2.0**-23)),
        ([TfidfVectorizer(), TruncatedSVD(3)], "TruncatedSVD", None),
        ([TfidfVectorizer(), StandardScaler(with_mean=False)], "StandardScaler", None),
    ],
)
def test_what_a_pipeline_does_to_words_is_told(imported, steps, before, domain):
    model = make_pipeline(*steps, OneVsRestClassifier(LogisticRegression())).fit(TEXTS, Y)
    layer = imported(model)
    features = layer.features(TEXTS)
    np.testing.assert_array_equal(features @ layer.weight.T + layer.bias > 0, model.predict(TEXTS))
    assert (layer.before, layer.domain) == (before, domain)
    assert_in_domain(features, domain)
    assert before in layer.domain_reason


def test_a_union_puts_blocks_of_features_side_by_side(imported):
    parts = [
        ("words", TfidfVectorizer()),
        ("letters", make_pipeline(CountVectorizer(analyzer="char"), TfidfTransformer())),
        ("counts", CountVectorizer()),
        ("hashed", HashingVectorizer(n_features=16)),
    ]
    union = FeatureUnion(parts, transformer_weights={"letters": 0.5})
    model = make_pipeline(union, OneVsRestClassifier(LogisticRegression())).fit(TEXTS, Y)
    layer = imported(model)
    kind, blocks = layer.domain
    n_letters = len(parts[1][1][0].vocabulary_)
    expected = [
        (5, ("unit", UNIT**2)),
        (n_letters, ("unit", 0.5 * UNIT**2)),
        (5, "nonnegative"),
        (16, ("ball", UNIT**2)),
    ]
    assert (kind, blocks) == ("blocks", expected)
    assert_in_domain(layer.features(TEXTS), layer.domain)
    assert layer.domain_reason.startswith(
        "The features come from a FeatureUnion: 5 nonnegative and in rows of length ≤ 1; "
    )


@pytest.mark.parametrize(
    ("part", "said"), [(TruncatedSVD(2), "not known"), (CountVectorizer(), None), (StandardScaler(), "not known")]
)
def test_a_union_with_a_part_that_is_not_known_bounds_nothing(part, said):
    inner = part if said is None else make_pipeline(CountVectorizer(), FunctionTransformer(_dense), part)
    union = FeatureUnion([("words", TfidfVectorizer()), ("other", inner)])
    layer = layer_of(make_pipeline(union, OneVsRestClassifier(LogisticRegression())).fit(TEXTS, Y))
    assert (layer.domain is None) == (said is not None)
    assert said is None or said in layer.domain_reason


def _dense(values):
    return values.toarray()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_perceptron_at_the_end_of_a_pipeline_knows_its_own_features(imported):
    model = make_pipeline(TfidfVectorizer(), MLPClassifier((3,), activation="tanh", max_iter=3)).fit(TEXTS, Y)
    layer = imported(model)
    assert (layer.before, layer.domain) == ("tanh", (-1.0, 1.0))
    np.testing.assert_array_equal(layer.features(TEXTS) @ layer.weight.T + layer.bias > 0, model.predict(TEXTS))


def test_the_best_estimator_of_a_search_is_taken(imported):
    search = GridSearchCV(OneVsRestClassifier(LogisticRegression()), {"estimator__C": [0.1, 1.0]}, cv=2).fit(X, Y)
    np.testing.assert_array_equal(
        imported(search).weight, np.vstack([part.coef_ for part in search.best_estimator_.estimators_])
    )


def test_steps_that_are_not_scikit_learns_bound_nothing():
    class Doubling(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):  # noqa: ARG002
            return self

        def transform(self, X):
            return 2 * X

    for step in (Doubling(), FunctionTransformer()):
        model = make_pipeline(TfidfVectorizer(), step, OneVsRestClassifier(LogisticRegression())).fit(TEXTS, Y)
        assert layer_of(model).domain is None


def test_negative_weights_of_words_bound_nothing():
    model = make_pipeline(TfidfVectorizer(), OneVsRestClassifier(LogisticRegression())).fit(TEXTS, Y)
    model[0].idf_ = -model[0].idf_
    assert layer_of(model).domain is None


# What is refused


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ClassifierChain(LogisticRegression()), "each label of a ClassifierChain reads the predictions of others"),
        (
            OneVsRestClassifier(GaussianNB()),
            "expected linear classifiers inside the OneVsRestClassifier, got",
        ),
        (KNeighborsClassifier(algorithm="brute"), "expected a classifier with a linear output layer, got sklearn's KN"),
        (LinearRegression(), "expected a classifier, got sklearn's LinearRegression"),
    ],
)
def test_models_without_one_linear_layer_are_refused(imported, model, message):
    with pytest.raises((ValueError, ModelFormatError), match=message):
        imported(model.fit(X, Y))


def test_a_pipeline_for_each_label_is_refused(imported):
    for outer, texts in ((OneVsRestClassifier, False), (MultiOutputClassifier, False)):
        model = outer(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, Y)
        assert not texts
        with pytest.raises((ValueError, ModelFormatError), match=f"each label of the {outer.__name__} has a pipeline"):
            imported(model)


def test_outputs_of_several_classes_are_refused(imported):
    model = MultiOutputClassifier(LogisticRegression()).fit(X, np.stack([CLASS, Y[:, 0]], axis=1))
    with pytest.raises((ValueError, ModelFormatError), match="expected two classes of each output, got 4 of output 0"):
        imported(model)


def test_an_estimator_that_was_never_fitted_is_refused():
    with pytest.raises(ValueError, match="expected a fitted OneVsRestClassifier"):
        layer_of(OneVsRestClassifier(LogisticRegression()))
    with pytest.raises(ValueError, match="expected a fitted LogisticRegression"):
        layer_of(make_pipeline(StandardScaler(), LogisticRegression()))


def test_labels_with_features_of_different_width_are_refused():
    model = OneVsRestClassifier(LogisticRegression()).fit(X, Y)
    model.estimators_[1].coef_ = np.ones((1, 7))
    with pytest.raises(ValueError, match="numbers of features that differ between labels"):
        layer_of(model)
    model.estimators_[1].coef_ = np.ones((2, 6))
    with pytest.raises(ValueError, match="expected one row of weights for each label, got 2 of label 1"):
        layer_of(model)


@pytest.mark.filterwarnings("ignore:Label .* is present:UserWarning")
def test_constant_labels_alone_are_refused():
    model = OneVsRestClassifier(LogisticRegression()).fit(X, np.zeros_like(Y))
    with pytest.raises(ValueError, match="got constant labels only"):
        layer_of(model)


# Files


class Own(OneVsRestClassifier):
    """An estimator that is not scikit-learn's."""


def test_types_that_skops_does_not_trust_are_refused(tmp_path):
    skops.io.dump(Own(LogisticRegression()).fit(X, Y), tmp_path / "m.skops")
    with pytest.raises(ModelFormatError, match=r"^m.skops: expected types that skops trusts, got .*Own"):
        read_layer(tmp_path / "m.skops")


def pack(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return path


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"other__json": "{}"}, r"expected a schema.json"),
        ({"schema__json": "{"}, r"expected JSON in schema.json"),
        ({"schema__json": "[" * 100_000}, r"expected JSON in schema.json"),
        ({"schema__json": "{}"}, "expected an estimator that skops saved"),
        ({"schema__json": json.dumps({"__class__": "X"})}, "expected an estimator that skops saved"),
        ({"schema__json": "{}", "a__npy": b"no array"}, r"a.npy: damaged, or not a file of this kind"),
        ({"schema__json": "{}", "a__npz": b"no zip"}, "expected a zip file"),
    ],
)
def test_false_files_are_refused(tmp_path, members, message):
    with pytest.raises(ModelFormatError, match=f"^m.skops: .*{message}"):
        read_layer(pack(tmp_path / "m.skops", **members))


@pytest.mark.parametrize(
    ("dtype", "message"), [("<f8", r"bytes for shape \(1099511627776,\), got 0"), ("|O", "got pickled Python objects")]
)
@pytest.mark.parametrize("nested", [False, True])
def test_an_array_that_claims_to_be_larger_than_it_is_is_refused(tmp_path, dtype, message, nested):
    write_npy_with_header(tmp_path / "a.npy", (2**40,), dtype)
    content = (tmp_path / "a.npy").read_bytes()
    if nested:
        content = pack(tmp_path / "a.npz", data__npy=content).read_bytes()
    name = "a__npz" if nested else "a__npy"
    with pytest.raises(ModelFormatError, match=message):
        read_layer(pack(tmp_path / "m.skops", schema__json="{}", **{name: content}))
