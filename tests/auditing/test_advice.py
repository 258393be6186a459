"""Advice is tried before it is given: on the encoder's width, and on the features that can occur."""

import re

import numpy as np

import labelproof as lp


def advice(d, n=60, k=6, **options):
    rng = np.random.default_rng(0)
    sets = [sorted(rng.choice(n, size, replace=False).tolist()) for size in rng.integers(1, k + 1, 40)]
    sets.append(list(range(0, 2 * k, 2)))
    found = lp.audit(rng.normal(size=(n, d)), sets, n_explained=0, **options)
    return {one["title"]: one["text"] for one in found.document["advice"]}


def shares(text):
    return [float(share) for share in re.findall(r"\(([\d.]+) %\)", text)]


def test_a_narrow_encoder_is_told_to_be_wider_first():
    told = advice(5)
    text = told["An encoder of at least 13 features, then a DFT head"]
    now, then = shares(text)
    assert now < then == 100
    assert "Now it gives 5" in text


def test_a_wide_encoder_needs_another_head_only():
    text = advice(13)["A DFT head over the 13 features"]
    assert shares(text) == [100]


def test_nonnegative_features_need_twice_as_many():
    told = advice(13, domain="nonnegative")
    now, then = shares(told["An encoder of at least 26 features, then a DFT head"])
    assert now < then == 100


def test_estimates_are_tried_on_the_same_features():
    text = next(text for title, text in advice(5, domain="nonnegative").items() if title.startswith("About"))
    wide, narrow = shares(text)
    assert narrow < wide
