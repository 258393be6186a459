"""A short campaign against the exact oracle, and that a campaign notices what is wrong."""

import io
import json
from itertools import product

import numpy as np

import campaign
import labelproof as lp
from labelproof.search import engine, many_bits

N_COMBINATIONS = len(campaign.COMBINATIONS)


def all_sets(n_labels):
    return np.array(list(product([False, True], repeat=n_labels)))


def ran(*arguments):
    out = io.StringIO()
    code = campaign.main([str(a) for a in arguments], out)
    return code, out.getvalue()


def test_every_verdict_of_a_short_campaign_is_true():
    code, text = ran("--cases", 8 * N_COMBINATIONS, "--seed", 20)
    assert code == 0, text
    *_, total, _ = text.splitlines()
    argmaxable, unargmaxable, only_proven, undecided, wrong = (int(n.replace(",", "")) for n in total.split()[1:])
    assert argmaxable + unargmaxable + only_proven + undecided == 8 * N_COMBINATIONS
    assert only_proven < N_COMBINATIONS
    assert min(argmaxable, unargmaxable) > 100
    assert wrong == 0
    assert undecided < N_COMBINATIONS
    for line in text.splitlines():  # only what touches a ball may be left open, by the verifier or by the oracle
        if line.startswith(campaign.RULES) and not any(f"  {name}  " in line for name in campaign.ROUND):
            assert line.split()[-3:] == ["0", "0", "0"], line


def test_a_wrong_verdict_is_told_with_the_way_to_repeat_it(monkeypatch):
    monkeypatch.setattr(campaign, "is_argmaxable", lambda *_, **__: True)
    code, text = ran("--cases", 80, "--seed", 3, "--start", 16)
    assert code == 1
    told = next(line for line in text.splitlines() if line.startswith("case "))
    number = told.split()[1]
    assert "was said to be unargmaxable" in told
    code, again = ran("--seed", 3, "--start", number, "--cases", 1)
    assert code == 1
    assert told in again


def test_thresholds_are_compared_as_they_were_rounded():
    """ln 3 and ln 9 of last bits decide this set, where math.log and scipy's logit differ."""
    code, text = ran("--seed", 22, "--start", 112333, "--cases", 1)
    assert code == 0, text


def test_a_threshold_that_was_taken_for_another_is_wrong(monkeypatch):
    monkeypatch.setattr(campaign, "logit", lambda p: p)
    code, text = ran("--seed", 22, "--start", 112333, "--cases", 1)
    assert code == 1
    assert "ValueError: the threshold 0.25 was taken as the score -1.09" in text


def test_a_verdict_that_cannot_be_proven_again_is_wrong(monkeypatch):
    def refuse(*_, **__):
        raise lp.CertificateError("label 0: expected a positive logit, got 0")

    monkeypatch.setattr(lp.Verification, "check", refuse)
    code, text = ran("--cases", 8)
    assert code == 1
    assert "CertificateError: label 0: expected a positive logit, got 0" in text


def test_an_undecided_set_is_counted_and_not_wrong(monkeypatch):
    verify = lp.verify
    monkeypatch.setattr(lp, "verify", lambda *all, **options: verify(*all, **options, time_limit=0))
    monkeypatch.setattr(campaign, "WEIGHTS", [lambda *_: np.array([[1.0, 1.0], [1.0, 1.0 + 2**-52], [1.0, -1.0]])])
    code, text = ran("--cases", 8 * N_COMBINATIONS)
    assert code == 0
    assert int(text.splitlines()[-2].split()[4]) > 0


def test_a_verdict_on_which_the_oracle_is_silent_is_only_proven(monkeypatch):
    monkeypatch.setattr(campaign, "is_argmaxable", lambda *_, **__: None)
    code, text = ran("--cases", 8, "--seed", 3)
    assert code == 0
    assert text.splitlines()[-2].split() == ["all", "0", "0", "8", "0", "0"]


def test_a_case_depends_on_its_seed_and_number_only():
    for number in (0, 7, 8, 801):
        one, other = campaign.Case(5, number), campaign.Case(5, number)
        assert one.first == 8 * (number // 8)
        np.testing.assert_array_equal(one.weight, other.weight)
        assert one.sets == other.sets
        assert one.name == other.name == campaign.COMBINATIONS[number // 8 % N_COMBINATIONS]


def test_a_campaign_ends_with_its_time_and_says_how_far_it_came():
    code, text = ran("--cases", 1000, "--start", 40, "--seconds", 0)
    assert code == 0
    assert text.splitlines()[-1] == "cases 40 to 39 of seed 0"


def test_a_search_in_many_bits_that_goes_round_in_circles_ends(monkeypatch):
    """Rows that differ by more powers of two than there are bits can lead it back to where it was."""
    outcomes, run = [], many_bits._Search.run

    def noted(search):
        found = run(search)
        outcomes.append((found[0], search.steps_left))
        return found

    monkeypatch.setattr(many_bits._Search, "run", noted)
    monkeypatch.setattr(engine, "SMALL", 0)
    tiny = 2.0**-52
    weight = [[2, 1, 2], [tiny, 1, 2], [2, 1, 2], [-tiny, 0, tiny], [tiny, -1, -2], [-tiny, 0, tiny]]
    bias = np.ldexp([1.0, 0, 1, -1, 1, 1], [56, 0, -166, 428, 483, -223])
    low, high = np.array([-1.8, -0.86, -0.49]), np.array([-0.66, -0.68, 0.8])
    found = lp.verify(weight, all_sets(6), bias=bias, domain=(low, high), rule="topk")
    found.check()
    assert (found.status >= 0).all()
    assert any(outcome == -1 and left <= 0 for outcome, left in outcomes)


def test_runs_of_a_seed_add_up_in_their_record(tmp_path):
    path = tmp_path / "record.json"
    for cases in (16, 8):
        code, text = ran("--cases", cases, "--seed", 5, "--record", path)
        assert code == 0, text
    assert "seed 5, cases 16 to 23" in text
    ran("--cases", 8, "--seed", 6, "--record", path)
    kept = json.loads(path.read_text())
    assert {seed: counts["cases"] for seed, counts in kept.items()} == {"5": 24, "6": 8}
    counts = kept["5"]
    assert sum(counts[outcome] for outcome in campaign.OUTCOMES) == 24
    assert counts["wrong"] == 0
    _, text = ran("--cases", 24, "--seed", 5)
    found = [int(n.replace(",", "")) for n in text.splitlines()[-2].split()[1:]]
    assert found == [counts[outcome] for outcome in campaign.OUTCOMES]


def test_a_record_is_written_as_it_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "A_WHILE", 0.0)
    path, judge = tmp_path / "record.json", campaign.judge
    seen = []

    def watched(case):
        seen.append(campaign.Record(path).cases(5))
        return judge(case)

    monkeypatch.setattr(campaign, "judge", watched)
    ran("--cases", 24, "--seed", 5, "--record", path)
    assert seen == [0, 8, 16]
