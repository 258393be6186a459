"""What the explorer says, against the verifier and against closed forms."""

import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from small_explorers import PETS, TRIANGLE, app_of, ask, client_of, layer_of

import labelproof as lp
from labelproof.explaining.small_conflicts import shares
from labelproof.explorer import make_app
from labelproof.explorer.newest_question import NewestWins
from labelproof.explorer.prover import make_prover
from labelproof.importers.assumptions import Reading
from labelproof.proof.labels import read_label_sets

WORDS = {1: "argmaxable", 0: "unargmaxable"}


def explained(client, labels, seconds=1.0):
    return ask(client, "explanation", labels=labels, seconds=seconds, page="test")


# Verdicts


@pytest.mark.parametrize("labels", [[], [0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]])
def test_the_verdict_is_the_verifiers(pets, labels):
    expected = lp.verify(TRIANGLE, [labels], ties="inactive").status[0]
    assert ask(pets, "verdict", labels=labels)["status"] == WORDS[expected]


def test_on_a_random_layer_every_verdict_is_the_verifiers(random_layer):
    weight, sets, client = random_layer
    expected = lp.verify(weight, sets, ties="inactive").status
    assert set(expected.tolist()) == {0, 1}
    for row, status in zip(sets, expected, strict=True):
        assert ask(client, "verdict", labels=np.flatnonzero(row).tolist())["status"] == WORDS[status]
    some = [np.flatnonzero(row).tolist() for row in sets[25:45]]
    assert ask(client, "verdicts", sets=some)["status"] == expected[25:45].tolist()


def test_the_order_of_labels_does_not_matter(pets):
    assert ask(pets, "verdict", labels=[1, 0]) == ask(pets, "verdict", labels=[0, 1])


def test_the_margin_is_that_of_the_most_central_input(pets):
    # {cat, dog} is the quarter plane x, y > 0 without its border: its middle is (1, 1), at 45° from both axes
    assert ask(pets, "verdict", labels=[0, 1])["margin"] == pytest.approx(np.sqrt(0.5))


def test_a_contradiction_names_its_labels_by_how_hard_they_pull(pets):
    conflict = ask(pets, "verdict", labels=[0, 1, 2])["conflict"]
    assert (conflict["on"], conflict["off"], conflict["extra"]) == ([2, 0, 1], [], [])
    # multipliers are equal, so that the shares are those of the norms √2, 1, 1
    assert conflict["on_shares"] == pytest.approx([0.41421, 0.29289, 0.29289], abs=1e-5)


def test_answers_name_the_labels_that_they_mention_and_no_others(pets):
    assert ask(pets, "verdict", labels=[1])["names"] == {"1": "dog"}
    assert set(ask(pets, "similar", labels=[2], limit=5)["names"].values()) == set(PETS)


def test_labels_without_names_are_called_by_their_index(random_layer):
    assert ask(random_layer[2], "verdict", labels=[7])["names"]["7"] == "label 7"


def test_how_often_a_set_occurs_is_counted(pets):
    counts = [ask(pets, "verdict", labels=labels)["count"] for labels in ([0], [0, 1, 2], [1, 2])]
    assert counts == [1, 2, 0]


def test_ties_decide_the_empty_set():
    labels = {ties: ask(client_of(app_of(TRIANGLE, ties=ties)), "verdict", labels=[]) for ties in ("open", "inactive")}
    assert labels["open"]["status"] == "unargmaxable"
    assert labels["inactive"]["status"] == "argmaxable"  # x = 0 gives no label


def test_thresholds_and_a_domain_enter_the_verdict():
    weight, low_only = [[1.0, 0.0], [0.0, 1.0]], {"domain": (0.0, 1.0)}
    assert ask(client_of(app_of(weight, **low_only)), "verdict", labels=[0])["status"] == "argmaxable"
    strict = client_of(app_of(weight, thresholds=0.9, **low_only))  # logit(.9) = 2.2 is beyond the box
    answer = ask(strict, "verdict", labels=[0])
    assert answer["status"] == "unargmaxable"
    assert "high[0]" in answer["conflict"]["extra"]
    assert strict.get("/api/model").json()["domain"] == "inputs within [0, 1]"


def test_the_models_own_rule_thresholds_and_domain_are_the_default():
    own = layer_of(TRIANGLE, thresholds=np.full(3, 0.7), domain="nonnegative")
    layer = make_prover(own, Reading()).layer
    assert layer.theta.tolist() == pytest.approx([np.log(7 / 3)] * 3)
    assert layer.low.tolist() == [0.0, 0.0]
    assert make_prover(own, Reading(rule="sigmoid", domain=None)).layer.theta is None
    assert make_prover(own, Reading(rule="sigmoid", domain=None)).layer.low is None
    assert make_prover(own, Reading(thresholds=0.5)).layer.theta.tolist() == [0.0] * 3


def test_a_rule_of_a_fixed_number_of_labels_gives_no_other_number():
    rule = lp.decisions.TopK(2)
    client = client_of(app_of(TRIANGLE, rule=rule))
    assert ask(client, "verdict", labels=[0, 1])["status"] == "argmaxable"
    assert ask(client, "verdict", labels=[0])["status"] == "size"
    assert explained(client, [0])["status"] == "size"
    assert ask(client, "verdicts", sets=[[0], [0, 2]])["status"] == [0, 1]


def test_of_a_rule_of_a_fixed_number_of_labels_the_nearest_sets_have_that_number():
    rng = np.random.default_rng(2)
    weight = rng.standard_normal((20, 3))
    client = client_of(app_of(weight, rule=lp.decisions.TopK(6)))
    sets = [sorted(rng.choice(20, 6, replace=False).tolist()) for _ in range(8)]
    never = [one for one, status in zip(sets, ask(client, "verdicts", sets=sets)["status"], strict=True) if status == 0]
    assert never
    for one in never[:3]:
        near = [found["labels"] for found in explained(client, one)["nearest"]]
        assert near
        assert {len(labels) for labels in near} == {6}
        assert (lp.verify(weight, near, rule="topk").status == 1).all()
    ranked = sorted(np.argsort(-weight @ rng.standard_normal(3))[:6].tolist())
    assert {one["can_flip"] for one in explained(client, ranked)["boundary"]} == {False}


def test_a_fitted_rule_brings_its_thresholds():
    rule = lp.decisions.Threshold(threshold=0.7, scores="probabilities")
    assert make_prover(layer_of(TRIANGLE), Reading(rule=rule)).layer.theta.tolist() == pytest.approx(
        [np.log(7 / 3)] * 3
    )
    with pytest.raises(ValueError, match="thresholds must be left to the rule, got both thresholds and Threshold"):
        make_prover(layer_of(TRIANGLE), Reading(rule=rule, thresholds=0.2))


def test_a_rule_without_inequalities_is_refused():
    with pytest.raises(ValueError, match="rule must be 'sigmoid', 'topk' or 'sparsemax', got <object"):
        make_prover(layer_of(TRIANGLE), Reading(rule=object()))


def test_names_and_sets_of_another_number_of_labels_are_refused():
    with pytest.raises(ValueError, match="label_names must hold 3 names to match the weight's rows, got 2"):
        app_of(TRIANGLE, names=["a", "b"])
    with pytest.raises(ValueError, match="label_sets must be sets of 3 labels, got 2"):
        make_app(layer_of(TRIANGLE), label_sets=read_label_sets([[0]], 2))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bias": True},
        {"rule": "topk"},
        {"bias": True, "rule": "topk"},
        {"domain": (-1.0, 0.5)},
        {"rule": "sparsemax"},
    ],
)
def test_pulls_in_floats_are_those_of_exact_multipliers(options):
    rng = np.random.default_rng(7)
    weight = rng.standard_normal((40, 4)) * 10.0 ** rng.integers(-3, 4, (40, 1))
    bias = rng.standard_normal(40) if options.pop("bias", False) else None
    prover = make_prover(layer_of(weight, bias), Reading(**options))
    compared = 0
    for _ in range(30):
        verdict = prover.verdict(tuple(sorted(rng.choice(40, 4, replace=False).tolist())))
        if verdict.conflict is not None:
            assert prover.pulls(verdict) == pytest.approx(shares(verdict.certificate), abs=1e-6)
            compared += 1
    assert compared > 10


def test_pulls_that_floats_cannot_tell_are_computed_exactly(monkeypatch):
    prover = make_prover(layer_of(TRIANGLE), Reading())
    verdict = prover.verdict((0, 1, 2))
    monkeypatch.setattr("labelproof.explorer.conflict_shares.SLACK", -1.0)
    assert prover.pulls(verdict) == shares(verdict.certificate)


# Explanations


def test_the_nearest_sets_of_a_contradiction_are_one_label_away(pets):
    answer = explained(pets, [0, 1, 2])
    assert answer["least_distance"] == 1
    assert sorted(one["labels"] for one in answer["nearest"]) == [[0, 1], [0, 2], [1, 2]]
    assert all(one["is_minimal"] and len(one["removed"]) == 1 for one in answer["nearest"])


def test_labels_that_change_first_can_do_so_alone_on_a_simple_cone(pets):
    boundary = explained(pets, [0, 1])["boundary"]
    assert [one["label"] for one in boundary] == [0, 1, 2]
    assert [one["can_flip"] for one in boundary] == [True, True, False]  # cat and dog keep bird off


def test_near_sets_of_a_random_layer_are_argmaxable_and_no_nearer_ones_exist(random_layer):
    weight, sets, client = random_layer
    never = np.flatnonzero(lp.verify(weight, sets, ties="inactive").status == 0)[:4]
    for i in never.tolist():
        answer = explained(client, np.flatnonzero(sets[i]).tolist(), seconds=2.0)
        near = [one["labels"] for one in answer["nearest"]]
        assert near
        assert (lp.verify(weight, near, ties="inactive").status == 1).all()
        distance = min(len(one["added"]) + len(one["removed"]) for one in answer["nearest"])
        assert answer["least_distance"] <= distance


def test_when_the_search_has_no_time_some_near_set_is_found_all_the_same():
    rng = np.random.default_rng(3)
    weight = rng.standard_normal((400, 12))
    labels = rng.choice(400, 60, replace=False).tolist()  # far from every set that some input gives
    answer = explained(client_of(app_of(weight)), labels, seconds=0.5)
    assert answer["status"] == "unargmaxable"
    assert answer["nearest"]
    assert lp.verify(weight, [answer["nearest"][0]["labels"]], ties="inactive").status[0] == 1


@pytest.mark.parametrize("rule", ["topk", "sparsemax"])
def test_other_rules_are_explained_too(rule):
    client = client_of(app_of(TRIANGLE, names=PETS, rule=rule))
    assert ask(client, "verdict", labels=[0])["status"] == "argmaxable"
    expected = lp.verify(TRIANGLE, [[]], rule=rule, ties="inactive").status[0]
    assert ask(client, "verdict", labels=[])["status"] == WORDS[expected]
    assert explained(client, [])["status"] == WORDS[expected]


def test_a_newer_question_ends_the_older_one():
    searches, started, ended = NewestWins(), Event(), Event()

    def long_search(cancelled):
        started.set()
        while not cancelled.is_set():
            time.sleep(0.001)
        ended.set()
        raise CancelledError

    with ThreadPoolExecutor(2) as pool:
        older = pool.submit(searches.run, "page", long_search)
        assert started.wait(5)
        assert searches.run("page", lambda _: "newer") == "newer"
        assert older.result(5) is None
    assert ended.is_set()


def test_a_question_that_waits_is_dropped_when_a_newer_one_comes():
    searches, go_on = NewestWins(), Event()
    with ThreadPoolExecutor(4) as pool:
        other = pool.submit(searches.run, "other page", lambda _: go_on.wait(5))
        time.sleep(0.05)
        waiting = pool.submit(searches.run, "page", lambda _: "waited")
        time.sleep(0.05)
        newest = pool.submit(searches.run, "page", lambda _: "newest")
        assert waiting.result(5) is None
        go_on.set()
        assert newest.result(5) == "newest"
        assert other.result(5) is True


def test_at_most_so_many_pages_are_kept_and_all_can_be_ended():
    searches, events = NewestWins(), []
    for page in range(40):
        searches.run(str(page), events.append)
    assert [event.is_set() for event in events] == [True] * 8 + [False] * 32
    searches.cancel_all()
    assert all(event.is_set() for event in events)


def test_a_cancelled_question_decides_nothing_more(random_layer):
    weight, sets, _ = random_layer
    prover, cancelled = make_prover(layer_of(weight), Reading()), Event()
    cancelled.set()
    with pytest.raises(CancelledError):
        prover.explain(tuple(np.flatnonzero(sets[-1]).tolist()), 5.0, cancelled)


# Similar sets, against all pairs computed one by one


def test_similar_sets_are_ordered_by_jaccard_and_counted(random_layer):
    _, sets, client = random_layer
    labels = np.flatnonzero(sets[0]).tolist()
    found = ask(client, "similar", labels=labels, limit=24)["sets"]
    distinct, counts = np.unique(sets, axis=0, return_counts=True)
    both, either = (distinct & sets[0]).sum(axis=1), (distinct | sets[0]).sum(axis=1)
    jaccard = dict(zip([tuple(np.flatnonzero(row)) for row in distinct], both / either, strict=True))
    occurs = dict(zip([tuple(np.flatnonzero(row)) for row in distinct], counts.tolist(), strict=True))
    assert found[0] == {"labels": labels, "similarity": 1.0, "count": 2}
    assert [one["similarity"] for one in found] == pytest.approx(sorted(jaccard.values(), reverse=True)[:24])
    for one in found:
        key = tuple(one["labels"])
        assert (one["similarity"], one["count"]) == (pytest.approx(jaccard[key]), occurs[key])


def test_of_no_label_the_most_frequent_sets_are_shown(pets):
    found = ask(pets, "similar", labels=[], limit=2)["sets"]
    assert [(one["labels"], one["count"]) for one in found] == [([0, 1, 2], 2), ([0], 1)]


def test_sets_that_are_too_large_to_be_asked_about_are_not_offered():
    rng = np.random.default_rng(0)
    client = client_of(app_of(rng.standard_normal((1200, 2)), [list(range(1100)), [0, 1]]))
    assert [one["labels"] for one in ask(client, "similar", labels=[0], limit=5)["sets"]] == [[0, 1]]


def test_without_data_there_is_nothing_similar():
    client = client_of(app_of(TRIANGLE))
    assert ask(client, "similar", labels=[0], limit=5) == {"sets": [], "names": {}}
    assert client.get("/api/model").json()["examples"] == 0


# Completion


def completed(client, query, limit=12):
    return [one["name"] for one in client.get("/api/labels", params={"q": query, "limit": limit}).json()]


@pytest.fixture(scope="module")
def fevers():
    names = [
        "Yellow fever",
        "Fever",
        "Feverfew",
        "Hay-fever",
        "Unfevered",
        "Café au lait",
        "Diabetes mellitus",
        "FEVER B",
    ]
    sets = [[0], [0], [0], [7], [7], [2]]
    return client_of(app_of(np.eye(8), sets, names=names))


def test_the_start_of_a_name_comes_before_the_start_of_a_word_before_any_place(fevers):
    expected = ["Fever", "FEVER B", "Feverfew", "Yellow fever", "Hay-fever", "Unfevered"]
    assert completed(fevers, "fever") == expected
    assert completed(fevers, "FEVER", limit=2) == expected[:2]


def test_the_very_name_comes_first_whatever_else_is_alike_or_more_frequent():
    names = ["C++", "c", "C", "#1", "cafe", "café", "c c"]
    client = client_of(app_of(np.eye(7), [[0], [0], [0], [2], [4], [4]], names=names))
    for name in names:
        assert completed(client, f" {name} ")[0] == name


def test_case_accents_and_spaces_do_not_matter(fevers):
    assert completed(fevers, "  cafe  AU") == ["Café au lait"]


def test_a_slip_of_the_pen_is_forgiven_last(fevers):
    assert completed(fevers, "diabtes") == ["Diabetes mellitus"]
    assert completed(fevers, "xylophone") == []


def test_a_label_is_found_by_its_index(fevers):
    assert completed(fevers, "#5") == ["Café au lait"]
    assert completed(fevers, "#8") == []
    assert completed(fevers, "#" + "9" * 50) == []


def test_an_empty_query_shows_the_most_frequent_labels(fevers):
    assert completed(fevers, "", limit=3) == ["Yellow fever", "FEVER B", "Feverfew"]


def test_a_layer_with_very_many_features_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="fewer features for its 2 labels, got 5000: labelproof audit takes it"):
        make_app(layer_of(np.ones((2, 5000))))


def test_balls_of_the_models_own_domain_are_left_out_and_others_refused():
    own = layer_of(TRIANGLE, domain="unit", domain_reason="Rows of length 1.")
    layer = make_prover(own, Reading()).layer
    assert (layer.balls, layer.low.tolist()) == ((), [0.0, 0.0])
    with pytest.raises(ValueError, match=r"the explorer takes domains of bounds only, got \('ball', 2.0\)"):
        make_prover(own, Reading(domain=("ball", 2.0)))
