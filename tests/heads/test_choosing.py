"""The strongest guarantee that there is room for is chosen, trained by name, saved, loaded and verified."""

import numpy as np
import pytest
import torch

import labelproof as lp
from labelproof.data import topic_data
from labelproof.heads import CodeHead, DFTHead, GaussianHead, HarmonicHead, choose
from labelproof.heads.choosing import widest
from labelproof.models import Model
from labelproof.training import TrainConfig, fit


@pytest.mark.parametrize(
    ("n", "k", "in_features", "least", "head"),
    [
        (2689, 10, None, "exact", CodeHead),
        (2689, 10, 500, "probabilistic", CodeHead),
        (2689, 25, 1000, "probabilistic", GaussianHead),
        (2689, 25, 300, "ideal arithmetic", HarmonicHead),
        (2689, 25, 51, "ideal arithmetic", DFTHead),
        (20, 15, 40, "exact", CodeHead),
    ],
)
def test_the_choice_is_what_fits_and_builds(n, k, in_features, least, head):
    choice = choose(n, k, None, in_features, least=least)
    built = choice.build(in_features or choice.columns)
    assert type(built) is head
    assert built.n_fixed == choice.columns
    assert built.features <= (in_features or choice.columns)
    guarantee = built.guarantee()
    assert (guarantee.level, guarantee.k) == (choice.level, k)
    assert guarantee.reaches_all_features
    assert choice.parameters(built.in_features) == sum(p.numel() for p in built.parameters())
    if head is CodeHead:
        assert guarantee.margin == pytest.approx(choice.margin)
        assert guarantee.share_of_ceiling == pytest.approx(choice.share_of_ceiling)
        assert choice.cost < 1


def test_a_budget_is_spent_on_the_margin():
    assert choose(2689, 10, budget=700).margin > 2 * choose(2689, 10).margin
    assert choose(2689, 10, budget=700).columns <= 700


def test_slack_takes_room():
    assert choose(2689, 10, None, 509, slack=25).kind == "code"
    with pytest.raises(ValueError, match="k must be at most 10 for a head of 2689 labels in 508 features, got 12"):
        choose(2689, 12, None, 508, slack=20)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2689, 25, None, 512), "k must be at most 10 for a head of 2689 labels in 512 features, got 25"),
        ((2689, 25, None, 9), "there must be more features: no k fits for a head of 2689 labels in 9 features, got 9"),
        ((2689, 25, 0), "budget must be an integer of at least 1"),
        ((100, 101), "k must be at most n_labels = 100, got 101"),
        ((2**31, 2), "n_labels must be at most 2147483647"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_k_that_does(arguments, message):
    with pytest.raises(ValueError, match=message):
        choose(*arguments)


def test_an_unknown_level_is_refused():
    with pytest.raises(
        ValueError, match="least must be one of 'exact', 'probabilistic', 'ideal arithmetic', got 'measured'"
    ):
        choose(100, 3, least="measured")


@pytest.mark.parametrize("least", ["exact", "probabilistic", "ideal arithmetic"])
def test_the_widest_k_is_chosen_and_the_next_refused(least):
    k = widest(1000, 300, least)
    assert choose(1000, k, None, 300, least=least).columns <= 300
    with pytest.raises(ValueError, match=f"k must be at most {k}"):
        choose(1000, k + 1, None, 300, least=least)


@pytest.fixture(scope="module")
def data():
    return topic_data(300, 40, 90, cardinality=3.0)


def config(head, **encoder):
    return TrainConfig.from_dict(
        {
            "encoder": {"kind": "features", **encoder},
            "head": {"slack": 4, **head},
            "decision": {"kind": "global"},
            "trainer": {"epochs": 2, "accelerator": "cpu"},
        }
    )


@pytest.mark.parametrize(
    ("kind", "width", "head"),
    [
        ("code", 90, CodeHead),
        ("guaranteed", 90, CodeHead),
        ("gaussian", 220, GaussianHead),
        ("harmonic", 90, HarmonicHead),
    ],
)
def test_a_head_by_name_is_trained_saved_loaded_and_verified(kind, width, head, data, tmp_path):
    fitted = fit(config({"kind": kind, "k": 3}, hidden=width), data, progress=False)
    model = Model.of(fitted)
    assert type(model.head) is head
    model.save(tmp_path / "model")
    again = lp.load_model(tmp_path / "model")
    assert torch.equal(again.head.weight, model.head.weight)
    assert "set of" in (tmp_path / "model" / "README.md").read_text()
    sets = [[1, 5, 9], [0], [37, 38, 39]]
    assert (lp.verify(again.head.weight.detach().double().numpy(), sets, rule=again.rule).status == 1).all()
    audit = lp.audit(tmp_path / "model", [[1, 5, 9], [2, 3]])
    assert (audit.verifications["data"].status == 1).all()


def test_a_guaranteed_head_on_a_narrow_encoder_lowers_k_and_says_so(data):
    with pytest.warns(UserWarning, match=r"the guarantee is for sets of up to \d+ labels, .* too narrow for more"):
        fitted = fit(config({"kind": "guaranteed"}, hidden=30), data, progress=False)
    assert fitted.head.guarantee().reaches_all_features
    assert fitted.config.head.kind == "code"


def test_a_k_that_was_asked_for_is_refused_on_a_narrow_encoder(data):
    with pytest.raises(ValueError, match=r"k must be at most \d+ for a head of 40 labels in 30 features, got 9"):
        fit(config({"kind": "guaranteed", "k": 9}, hidden=30), data, progress=False)


def test_the_estimator_takes_the_heads_by_name():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 60)).astype(np.float32)
    Y = (X[:, :12] > 1).astype(int)
    for kind in ("guaranteed", "code", "harmonic"):
        clf = lp.MultiLabelClassifier(head=kind, k=3, slack=4, epochs=2, random_state=0).fit(X, Y)
        assert clf.predict(X).shape == Y.shape
        assert clf.head_.guarantee().k == 3
