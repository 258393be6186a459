"""Pairs of texts with attention."""

import numpy as np
import pytest
import torch
from every_encoder import features_of

from labelproof import encoders
from labelproof.pictures import draw_attention

PAIRS = ["a man sleeps in the sun\n\nhe is awake", "a dog runs\n\nan animal moves", "\n\n", "a bird"]


def built(**options):
    torch.manual_seed(0)
    return encoders.build("pair", PAIRS, dim=6, hidden=5, **options)


@pytest.mark.parametrize("attention", ["softmax", "sparsemax", "entmax"])
def test_weights_of_words_are_a_distribution_over_the_first_text(attention):
    found = built(attention=attention).attention(PAIRS)
    assert [word for word, _ in found[0]] == ["a", "man", "sleeps", "in", "the", "sun"]
    assert [word for word, _ in found[2]] == []
    for words in (found[0], found[1], found[3]):
        assert sum(weight for _, weight in words) == pytest.approx(1, abs=1e-5)
        assert min(weight for _, weight in words) >= 0


def test_padding_has_no_weight_and_both_texts_matter():
    encoder = built()
    alone = encoder.attention(PAIRS[1:2])[0]
    beside = encoder.attention(PAIRS)[1]
    np.testing.assert_allclose([w for _, w in alone], [w for _, w in beside], atol=1e-6)
    first = features_of(encoder, PAIRS[1:2])
    assert not torch.allclose(first, features_of(encoder, ["a dog runs\n\nan animal sleeps"]))
    assert not torch.allclose(first, features_of(encoder, ["a dog sleeps\n\nan animal moves"]))


def test_without_attention_there_is_nothing_to_show():
    encoder = built(attention="none")
    assert features_of(encoder, PAIRS).shape == (4, 5)
    with pytest.raises(ValueError, match="attention must be one of the encoder's options to be shown, got 'none'"):
        encoder.attention(PAIRS)


def test_attention_leaves_the_mode_as_it_was():
    encoder = built()
    encoder.train()
    encoder.attention(PAIRS)
    assert encoder.training


def test_an_unknown_attention_is_refused():
    with pytest.raises(ValueError, match="attention"):
        built(attention="hard")


def test_attention_is_drawn_and_words_are_text(tmp_path):
    draw_attention([[("$x$", 0.9), ("<b>", 0.0)] * 30, []], tmp_path / "a.png", titles=["one", "two"])
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="titles must be one for each of 1 texts, got 2"):
        draw_attention([[("a", 1.0)]], tmp_path / "b.png", titles=["one", "two"])
