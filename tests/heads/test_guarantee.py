"""What a head claims to be able to predict, its own forward pass predicts."""

import numpy as np
import pytest
import scipy.sparse
import torch

import labelproof as lp
from labelproof.heads import DFTHead, spread_order


def predicted(head, x, dtype=torch.float64):
    return (head.to(dtype).logits(x.to(dtype)) > 0).nonzero().flatten().tolist()


@pytest.mark.parametrize("path", ["fft", "dense"])
@pytest.mark.parametrize("nodes", ["fast", "paper"])
def test_closed_form_witnesses_pass_through_the_heads_own_forward(path, nodes):
    random = np.random.default_rng(0)
    head = DFTHead(30, 197, 6, 3, order=random.permutation(197), nodes=nodes, path=path)
    for size in (0, 1, 2, 4, 6):
        active = sorted(random.choice(197, size, replace=False).tolist())
        assert predicted(head, head.witness(active)) == active


@pytest.mark.parametrize("active", [[0, 196], list(range(197)), [0, 1, 195, 196], list(range(5, 197))])
def test_sets_around_the_end_of_the_circle_have_witnesses(active):
    head = DFTHead(30, 197, 2, 3)
    assert head.n_nodes == 200
    assert predicted(head, head.witness(active)) == active


def test_a_witness_of_too_many_labels_is_refused():
    with pytest.raises(ValueError, match="label_set must have at most 2k = 4 sign changes, got 6"):
        DFTHead(5, 60, 2, 0).witness([1, 10, 20])


def test_a_witness_needs_nodes_on_a_grid():
    with pytest.raises(ValueError, match="witness needs nodes on a grid"):
        DFTHead(5, 60, 2, 0, nodes="learned").witness([1])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("path", "k"), [("fft", 4), ("dense", 4), ("split", 12)])
def test_sets_called_safe_are_predicted_in_that_precision(dtype, path, k, monkeypatch):
    used = []
    survives = lp.heads.safety._survives

    def remember(head, weight, active, x, *rest):
        answer = survives(head, weight, active, x, *rest)
        if answer:
            used.append((active.tolist(), np.ldexp(x, -int(np.frexp(np.abs(x).max())[1]))))
        return answer

    monkeypatch.setattr(lp.heads.safety, "_survives", remember)
    torch.manual_seed(0)
    head = DFTHead(50, 150, k, 20, path=path)
    sets = [[1], [3, 70], [10, 60, 110], [0, 40, 80, 120], [5, 6, 7], []]
    guarantee = head.guarantee(sets, dtype=dtype)
    assert guarantee.is_safe.sum() == len(used)
    assert guarantee.path == path
    for active, x in used:
        assert predicted(head, torch.from_numpy(x), dtype) == active
    assert guarantee.share_safe == np.mean(guarantee.is_safe)
    if dtype in (torch.float64, torch.float32):
        assert guarantee.share_safe == 1.0


def test_a_set_whose_margin_drowns_in_rounding_is_not_called_safe():
    head = DFTHead(25, 400, 12, 0, path="dense")
    crowded = list(range(100, 124, 2))
    assert not head.guarantee([crowded], dtype=torch.bfloat16).is_safe[0]
    assert head.guarantee([[200]], dtype=torch.float64).is_safe[0]


def test_the_guarantee_says_in_words_what_was_checked():
    head = DFTHead(40, 100, 4, 3, path="dense")
    assert "every set of at most 4 of 100 labels" in str(head.guarantee())
    assert "nothing was checked" in str(head.guarantee())
    assert "1 of 1 label sets" in str(head.guarantee([[1, 50]]))
    assert head.guarantee().share_safe is None
    assert head.guarantee(np.zeros((0, 100), dtype=bool)).share_safe == 1.0


def test_a_narrow_encoder_is_part_of_the_words():
    with pytest.warns(UserWarning, match="the encoder only 5"):
        head = DFTHead(5, 100, 4, 3)
    assert "narrower than the head's 12 features" in str(head.guarantee())


def test_the_verifier_agrees_with_the_guarantee():
    head = DFTHead(25, 300, 5, 4)
    sets = [[3, 90, 200], [1, 2, 3, 4, 5]]
    assert (lp.verify(head.weight.detach().numpy(), sets).status == 1).all()


def test_learned_nodes_are_checked_by_the_verifier():
    head = DFTHead(25, 100, 3, 4, nodes="learned")
    assert head.guarantee([[3, 50]]).is_safe.all()


def energy(places, labels):
    n = labels.shape[1]
    total = 0.0
    for row in labels.astype(bool):
        p = places[row]
        for a in range(len(p)):
            for b in range(a):
                total -= np.log(np.sin(np.pi * abs(int(p[a]) - int(p[b])) / n))
    return total


def test_spreading_lowers_the_energy_of_co_active_labels():
    random = np.random.default_rng(0)
    labels = np.zeros((50, 40), dtype=int)
    for row in labels:
        row[(random.integers(40) + np.arange(3)) % 40] = 1
    places = spread_order(labels)
    assert sorted(places) == list(range(40))
    assert energy(places, labels) < 0.5 * energy(np.arange(40), labels)


def test_a_layout_is_the_same_for_every_form_of_labels_and_each_seed():
    labels = (np.random.default_rng(0).random((60, 30)) < 0.1).astype(int)
    places = spread_order(labels)
    assert np.array_equal(places, spread_order(scipy.sparse.csr_array(labels)))
    assert np.array_equal(places, spread_order([np.flatnonzero(row).tolist() for row in labels], n_labels=30))
    assert not np.array_equal(places, spread_order(labels, random_state=1))


def test_a_layout_of_lists_needs_the_number_of_labels():
    with pytest.raises(ValueError, match="n_labels must be given"):
        spread_order([[0, 1]])
