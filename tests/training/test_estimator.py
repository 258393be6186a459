"""MultiLabelClassifier by the conventions of scikit-learn."""

# ruff: noqa: F401 - fixtures are imported, and tests take them by their names

import pickle
import re
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from training_data import one_thread

from labelproof.data import Dataset
from labelproof.decisions import PerLabelThreshold, Threshold
from labelproof.models import MultiLabelClassifier
from labelproof.training.choices import SHRINKAGE
from labelproof.training.config import DataConfig
from labelproof.training.data_parts import divide

UNREACHED = "ignore:the head has .* features but the encoder only:UserWarning"  # X has few features in these tests


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 30))
    return X, (X[:, :9] + 0.2 * X[:, 9:18] > 0.7).astype(int)


def classifier(**options):
    return MultiLabelClassifier(**{"head": "dft", "slack": 5, "epochs": 10, "random_state": 0} | options)


@pytest.mark.parametrize("y", [[["a"], ["b"]], [["a"], ["a", "b"]], [[0], [0, 1]], [{"a"}, {"b"}]])
def test_lists_of_labels_are_refused_with_the_way_out(y):
    for X in (["one text", "another"], np.eye(2)):
        with pytest.raises(ValueError, match=r"got lists of labels such as .*MultiLabelBinarizer"):
            MultiLabelClassifier().fit(X, y)


def test_texts_take_label_sets_as_nested_lists():
    texts = ["a cat", "a dog", "cat and dog", "no pet"] * 6
    fitted = MultiLabelClassifier(budget="fast").fit(texts, [[1, 0], [0, 1], [1, 1], [0, 0]] * 6)
    assert fitted.predict(texts[:2]).shape == (2, 2)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"head": "dft", "epochs": 12, "lr": 0.05}, {"budget": "fast"}])
def test_the_checks_of_scikit_learn_pass(options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings, scikit-learn's and ours
        results = check_estimator(MultiLabelClassifier(random_state=0, **options), on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] not in ("passed", "skipped")}
    assert failed == {}
    assert len(results) > 50


def test_label_sets_are_answered_in_the_shape_of_y(problem):
    X, Y = problem
    clf = classifier().fit(X, Y)
    for answer in (clf.predict(X), clf.predict_proba(X), clf.decision_function(X)):
        assert answer.shape == Y.shape
    assert set(np.unique(clf.predict(X))) <= {0, 1}
    assert np.allclose(clf.predict_proba(X), 1 / (1 + np.exp(-clf.decision_function(X))))


def test_sparse_label_sets_are_answered_as_csr(problem):
    X, Y = problem
    dense, sparse = classifier().fit(X, Y), classifier().fit(X, scipy.sparse.csr_matrix(Y))
    answer = sparse.predict(X)
    assert scipy.sparse.issparse(answer)
    assert answer.format == "csr"
    assert (answer.toarray() == dense.predict(X)).all()


def test_sparse_label_sets_are_predicted_without_all_logits_at_once(problem, monkeypatch):
    X, Y = problem
    clf = classifier(epochs=1).fit(X, scipy.sparse.csr_matrix(Y))
    many = np.tile(X, (5, 1))
    expected, sizes = clf.rule_.decide(clf.decision_function(many)), []
    decide = PerLabelThreshold.decide
    monkeypatch.setattr(
        PerLabelThreshold, "decide", lambda self, z, **options: sizes.append(len(z)) or decide(self, z, **options)
    )
    assert (clf.predict(many).toarray() == expected).all()
    assert max(sizes) < len(many)


def test_sparse_features_are_learned_like_dense_ones(problem):
    X, Y = problem
    X = np.where(X > 0.5, X, 0)
    dense, sparse = classifier().fit(X, Y), classifier().fit(scipy.sparse.csr_matrix(X), Y)
    assert np.allclose(dense.decision_function(X), sparse.decision_function(scipy.sparse.coo_array(X)), atol=1e-4)


@pytest.mark.filterwarnings(UNREACHED)
@pytest.mark.parametrize("names", [["no", "yes"], ["ant", "bee", "cat"]])
def test_classes_are_answered_in_their_own_shape(names):
    rng = np.random.default_rng(0)
    number = rng.integers(len(names), size=120)
    X = 3 * np.eye(4)[number] + rng.normal(size=(120, 4))
    y = np.array(names)[number]
    clf = classifier(epochs=30).fit(X, y)
    assert clf.classes_.tolist() == names
    assert clf.predict(X).shape == (120,)
    assert (clf.predict(X) == y).mean() > 0.8
    p = clf.predict_proba(X)
    assert p.shape == (120, len(names))
    assert np.allclose(p.sum(axis=1), 1)
    assert clf.decision_function(X).shape == ((120,) if len(names) == 2 else (120, 3))


def test_k_is_by_default_the_most_active_labels(problem):
    X, Y = problem
    assert classifier().fit(X, Y).head_.k == min(Y.sum(axis=1).max(), 4)
    assert classifier(k=2).fit(X, Y).head_.k == 2


def test_the_head_loss_and_decision_can_be_chosen(problem):
    X, Y = problem
    clf = classifier(
        head="bottleneck", d=4, loss={"kind": "focal", "gamma": 1.0}, decision={"kind": "global", "metric": "macro-f1"}
    ).fit(X, Y)
    assert clf.head_.weight.shape == (9, 4)
    assert isinstance(clf.rule_, Threshold)
    assert clf.rule_.metric == "macro-f1"


def test_distributions_of_sparsemax_add_up_to_one(problem):
    X, Y = problem
    assert np.allclose(classifier(loss="sparsemax").fit(X, Y).predict_proba(X).sum(axis=1), 1, atol=1e-5)


def test_two_classes_are_no_distribution(problem):
    X, Y = problem
    with pytest.raises(ValueError, match="loss 'sparsemax' compares labels with each other and needs at least two"):
        classifier(loss="sparsemax").fit(X, Y[:, 0])


def test_prediction_between_calls_of_partial_fit_changes_nothing(problem):
    X, Y = problem
    one, two = classifier(), classifier()
    for _ in range(2):
        one.partial_fit(X, Y).predict(X)
        two.partial_fit(X, Y)
    assert (one.decision_function(X) == two.decision_function(X)).all()


def test_a_clone_with_the_same_seed_is_the_same_model(problem):
    X, Y = problem
    clf = classifier().fit(X, Y)
    copy = clone(clf)
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert (copy.fit(X, Y).decision_function(X) == clf.decision_function(X)).all()


def test_a_pickled_classifier_predicts_the_same(problem):
    X, Y = problem
    for clf in (classifier().fit(X, Y), classifier().partial_fit(X, Y)):
        copy = pickle.loads(pickle.dumps(clf))  # noqa: S301 - our own
        assert (copy.decision_function(X) == clf.decision_function(X)).all()


@pytest.mark.filterwarnings(UNREACHED)
def test_it_works_in_a_pipeline_on_texts():
    texts = ["cats and dogs", "a dog", "birds sing", "a cat eyes birds", "dogs", "nothing"] * 10
    Y = np.array([[w in t for w in ("cat", "dog", "bird")] for t in texts]).astype(int)
    model = make_pipeline(TfidfVectorizer(), classifier(epochs=30, lr=0.05))
    assert f1_score(Y, model.fit(texts, Y).predict(texts), average="micro") > 0.9


def test_it_works_in_a_grid_search(problem):
    X, Y = problem
    search = GridSearchCV(
        make_pipeline(StandardScaler(), classifier(epochs=3)),
        {"multilabelclassifier__lr": [1e-4, 3e-2], "multilabelclassifier__decision": ["global"]},
        scoring=make_scorer(f1_score, average="micro"),
        cv=2,
    ).fit(X, Y)
    assert search.best_params_["multilabelclassifier__lr"] == 3e-2
    assert search.predict(X).shape == Y.shape


def test_it_can_be_cross_validated_by_its_own_score(problem):
    X, Y = problem
    assert cross_val_score(classifier(epochs=2), X, Y, cv=2).shape == (2,)


def test_partial_fit_goes_on_where_it_was(problem):
    X, Y = problem
    clf = classifier(lr=0.02)
    losses = []
    for _ in range(8):
        for part in (slice(0, 75), slice(75, 150)):
            clf.partial_fit(X[part], Y[part])
        losses.append(clf.history_[-1]["train loss"])
    assert losses[-1] < 0.6 * losses[0]
    assert clf.n_iter_ == 16
    assert [row["epoch"] for row in clf.history_] == list(range(1, 17))


def test_partial_fit_decides_at_one_half_until_it_is_tuned(problem):
    X, Y = problem
    clf = classifier(lr=0.02)
    for _ in range(5):
        clf.partial_fit(X[:100], Y[:100])
    assert (clf.predict(X) == (clf.predict_proba(X) > 0.5)).all()
    before = f1_score(Y[100:], clf.predict(X[100:]), average="macro", zero_division=0)
    clf.tune(X[100:], Y[100:])
    assert f1_score(Y[100:], clf.predict(X[100:]), average="macro", zero_division=0) > before


def test_partial_fit_after_fit_starts_anew(problem):
    X, Y = problem
    assert classifier().fit(X, Y).partial_fit(X, Y).n_iter_ == 1


@pytest.mark.filterwarnings(UNREACHED)
def test_partial_fit_needs_all_classes_at_first():
    X, y = np.eye(4), np.array([0, 1, 2, 0])
    clf = classifier().partial_fit(X[:2], y[:2], classes=[0, 1, 2])
    clf.partial_fit(X, y)
    with pytest.raises(ValueError, match=re.escape("y must hold the classes [0, 1, 2], got")):
        clf.partial_fit(X, y + 1)


def test_thresholds_are_those_of_the_held_out_examples(problem):
    X, Y = problem
    clf = classifier(validation_fraction=0.3).fit(X, Y)
    held_out = divide(Dataset(Y, tuple("abcdefghi"), features=X), DataConfig(validation=0.3), seed=0).validation
    scores = clf.decision_function(held_out.features.astype(np.float32))
    expected = PerLabelThreshold(shrinkage=SHRINKAGE).fit(held_out.labels, scores)
    assert np.allclose(clf.rule_.thresholds_, expected.thresholds_, atol=1e-5)


def test_wrong_label_sets_are_refused(problem):
    X, Y = problem
    with pytest.raises(ValueError, match="y must hold 0 and 1 for label sets, got"):
        classifier().fit(X, 2 * Y)
    clf = classifier(epochs=1).fit(X, Y)
    with pytest.raises(ValueError, match="y must have 9 labels, got 8"):
        clf.tune(X, Y[:, :8])
    with pytest.raises(ValueError, match=re.escape("y must have shape (n_examples, 9), got (150,)")):
        clf.tune(X, Y[:, 0])


@pytest.mark.filterwarnings(UNREACHED)
def test_a_model_of_classes_has_nothing_to_tune():
    clf = classifier(epochs=1).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="tune needs label sets"):
        clf.tune(np.eye(4), [0, 1, 0, 1])


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="y must have at least two classes, got 1 class"):
        classifier().fit(np.eye(4), [1, 1, 1, 1])


def test_a_wrong_option_is_refused_when_it_is_used(problem):
    with pytest.raises(ValueError, match="did you mean focal"):
        classifier(loss="focall").fit(*problem)
    with pytest.raises(ValueError, match=r"head\.kind"):
        classifier(head="dtf").fit(*problem)


TEXTS = ["red wine and cheese", "white wine", "a fast red car", "a slow car", "cheese and bread", "red bread"] * 8
TAGS = np.array([[int(word in text) for word in ("wine", "car", "red")] for text in TEXTS])


def test_without_options_it_reads_texts():
    clf = MultiLabelClassifier(budget="fast", random_state=0).fit(TEXTS, TAGS)
    assert clf.predict(["a red car", "wine"]).tolist() == [[0, 1, 1], [1, 0, 0]]
    assert clf.predict_proba(TEXTS).shape == TAGS.shape
    assert clf.tune(TEXTS, TAGS).rule_.metric == "micro-f1"
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MultiLabelClassifier(budget="fast").fit(TEXTS[:3], TAGS)


def test_without_options_it_takes_missing_values_and_sparse_features(problem):
    X, Y = problem
    gaps = X.copy()
    gaps[::7, 3] = np.nan
    assert MultiLabelClassifier(budget="fast", random_state=0).fit(gaps, Y).predict(gaps).shape == Y.shape
    with pytest.raises(ValueError, match="NaN"):
        classifier().fit(gaps, Y)
    sparse = scipy.sparse.csr_array(np.where(X > 1, X, 0))
    found = MultiLabelClassifier(budget="fast", random_state=0).fit(sparse, scipy.sparse.csr_array(Y)).predict(sparse)
    assert scipy.sparse.issparse(found)
