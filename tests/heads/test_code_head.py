"""A code head's guarantee holds for the numbers as they are stored, in its own forward pass."""

import math
import re

import numpy as np
import pytest
import torch

import labelproof as lp
from labelproof.heads import CodeHead
from labelproof.heads.adversary import find_worst_set, vanishing_sets
from labelproof.theory.codes import Code, switching_set
from labelproof.theory.incoherence import check_incoherence


def covering_set(head, target, k, random):
    """Choose labels that cover as many ones of another label as they can, one by one."""
    ones = head.ones.numpy().reshape(head.n_labels, -1)
    left, chosen = set(ones[target].tolist()), []
    for _ in range(k):
        gain = np.isin(ones, list(left)).sum(1)
        gain[[target, *chosen]] = -1
        chosen.append(int(random.choice(np.flatnonzero(gain == gain.max()))))
        left -= set(ones[chosen[-1]].tolist())
    return sorted(chosen)


def many_sets(head, count):
    """Return random, clustered, covering, structured and adversarial sets of up to k labels, and the empty one."""
    random, n, k = np.random.default_rng(0), head.n_labels, head.k
    weight = head.weight.detach().double().numpy()
    sets = [[], [0], [n - 1], *vanishing_sets(weight, k), list(find_worst_set(weight, k, rounds=4).labels)]
    structured = switching_set(Code(head.code.q, 2, 4))
    while len(sets) < count:
        size = int(random.integers(1, k + 1))
        first, step = int(random.integers(n)), int(random.choice([1, 2, head.code.q, head.code.q + 1]))
        sets.append(sorted(random.choice(n, k, replace=False).tolist()))
        sets.append(sorted({(first + step * i) % n for i in range(size)}))
        sets.append(sorted(random.choice(structured, min(k, len(structured)), replace=False).tolist()))
        if len(sets) % 5 == 0:
            sets.append(covering_set(head, first, k, random))
    return sets[:count]


def check(head, sets, dtype):
    """Assert that the head's own forward pass gives each set from its witness, with exact logits."""
    x = torch.stack([head.witness(active) for active in sets]).to(dtype)
    z = head.to(dtype).logits(x)
    wanted = torch.zeros(len(sets), head.n_labels, dtype=torch.bool)
    for row, active in zip(wanted, sets, strict=True):
        row[active] = True
    assert torch.equal(z > 0, wanted)
    assert torch.equal(z < 0, ~wanted)
    assert torch.equal((z.double() / head.scale).frac(), torch.zeros_like(z, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_ten_thousand_sets_come_out_exactly_right(dtype):
    torch.manual_seed(0)
    head = CodeHead(150, 374, 5, 8)
    check(head, many_sets(head, 10_000), dtype)


@pytest.mark.parametrize(("n", "k"), [(20, 6), (60, 2), (152, 8), (600, 20), (1000, 17), (2689, 10)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.bfloat16])
def test_other_codes_and_precisions_too(n, k, dtype):
    head = CodeHead(1000, n, k, 0)
    random = np.random.default_rng(1)
    sets = [covering_set(head, int(random.integers(n)), k, random) for _ in range(20)]
    sets += [random.choice(n, k, replace=False).tolist() for _ in range(20)]
    check(head, sets, dtype)
    assert head.guarantee().holds_in_dtype


@pytest.mark.parametrize("n", [3, 10, 49, 100, 374, 997])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 9])
@pytest.mark.filterwarnings("ignore:the head has")
def test_the_theorems_hold_on_the_stored_arrays(n, k):
    k = min(k, n)
    head = CodeHead(1, n, k, 0)
    assert head.guarantee().level == "exact"
    columns = head._fixed_columns().double().numpy()[:, 1:] / head.scale
    found = check_incoherence(columns, k, constant=1.0)
    assert found.proven or k == n
    shared = columns @ columns.T - np.diag(np.full(n, head.code.length))
    covered = np.sort(shared, axis=1)[:, ::-1][:, : min(k, n - 1)].sum(1).max()
    assert covered < head.code.length
    gap = head.code.length - int(covered)
    norm = math.sqrt((head.code.length + 1) * (head.code.columns + int(covered) ** 2))
    assert head.guarantee().margin == pytest.approx(gap / norm)


def test_the_verifier_agrees_with_every_witness_and_the_margin_is_reached():
    torch.manual_seed(0)
    head = CodeHead(150, 374, 5, 8)
    weight, sets = head.weight.detach().double().numpy(), many_sets(head, 60)
    verified = lp.verify(weight, sets)
    assert (verified.status == 1).all()
    bound = head.guarantee().margin
    for active in sets:
        x = head.witness(active).numpy()
        signs = np.where(np.isin(np.arange(374), active), 1, -1)
        relative = signs * (weight @ x) / np.linalg.norm(weight, axis=1) / np.linalg.norm(x)
        assert relative.min() >= bound * (1 - 1e-12)
    worst = covering_set(head, 7, 5, np.random.default_rng(0))
    assert lp.verify(weight, [worst]).status == [1]


@pytest.mark.parametrize(("length", "size"), [(5, 13), (6, 20), (8, 45)])
def test_sets_beyond_the_proven_k_can_be_unargmaxable(length, size):
    code = Code(q=53, coefficients=2, length=length)
    head = CodeHead(500, 600, code.k, 0, code=code)
    active = list(switching_set(code))
    assert len(active) == size > head.guarantee().k
    verified = lp.verify(head.weight.double().numpy(), [active])
    verified.check()
    assert verified.status == [0]
    with pytest.raises(ValueError, match="label_set must leave every other label a one of its own"):
        head.witness(active)
    assert not head.guarantee([active]).is_safe[0]


def test_a_larger_set_that_covers_nobody_still_has_a_witness():
    head = CodeHead(150, 374, 5, 0)
    check(head, [list(range(6)), list(range(374))], torch.float32)
    assert head.guarantee([range(6)]).is_safe.all()


def test_tampered_indices_are_caught():
    head = CodeHead(150, 374, 5, 0)
    assert head.guarantee().level == "exact"
    head.symbols[7] = head.symbols[9]
    with pytest.raises(lp.CertificateError, match="expected that no 5 labels cover all 11 ones of another"):
        head.guarantee()
    head.symbols[7, 0] = 200
    with pytest.raises(lp.CertificateError, match="expected 11 for each label, from 0 to 10"):
        head.guarantee()


def test_tampering_that_leaves_the_proof_lowers_the_margin():
    head = CodeHead(500, 600, 3, 0, code=Code(53, 2, 8))
    before = head.guarantee().margin
    head.symbols[7, :3] = head.symbols[9, :3]
    assert head.guarantee().margin < before


def test_many_labels_are_compared_with_the_definition(monkeypatch):
    monkeypatch.setattr("labelproof.theory.code_checks.MOST_STEPS", 10)
    head = CodeHead(150, 374, 5, 0)
    margin = head.guarantee().margin
    monkeypatch.undo()
    assert head.guarantee().margin == margin
    monkeypatch.setattr("labelproof.theory.code_checks.MOST_STEPS", 10)
    head.symbols[3, 3] += 1
    with pytest.raises(lp.CertificateError, match="got others, and too many rows to compare"):
        head.guarantee()


def test_learnable_columns_that_are_not_finite_void_the_guarantee():
    head = CodeHead(150, 374, 5, 4)
    with torch.no_grad():
        head.slack_weight[3, 1] = math.inf
    with pytest.raises(lp.CertificateError, match="slack_weight: expected finite numbers"):
        head.guarantee()


@pytest.mark.filterwarnings("ignore:the head has")
def test_a_code_too_long_for_a_precision_is_not_called_exact_in_it():
    head = CodeHead(1, 600, 1, 0, code=Code(257, 2, 258))
    assert not head.guarantee(dtype=torch.bfloat16).holds_in_dtype
    assert "rounding may break it" in str(head.guarantee(dtype=torch.bfloat16))
    assert head.guarantee(dtype=torch.float16).holds_in_dtype
    assert head.guarantee(dtype=torch.float32).holds_in_dtype
    assert not CodeHead(200, 374, 5, 0, scale=2.0**-20).guarantee(dtype=torch.float16).holds_in_dtype


def test_a_budget_buys_margin():
    cheap, wide = CodeHead(400, 374, 5, 0), CodeHead(400, 374, 5, 0, budget=300)
    assert wide.n_fixed <= 301
    assert wide.guarantee().margin > 2 * cheap.guarantee().margin
    assert 0.2 < wide.guarantee().share_of_ceiling < 1


def test_few_labels_get_a_column_each():
    head = CodeHead(40, 20, 9, 2)
    assert head.code == Code(20, 1, 1)
    check(head, [[], list(range(20)), list(range(0, 20, 2)), [3]], torch.bfloat16)
    assert CodeHead(40, 20, 20, 2).guarantee().k == 20


def test_a_narrow_encoder_is_told_the_widest_k():
    with pytest.warns(
        UserWarning, match="485 features but the encoder only 300: .* k = 8 is the most that this encoder"
    ):
        head = CodeHead(300, 2689, 10, 1)
    assert head.widest_k() == 8
    assert "narrower than the head's 485 features" in str(head.guarantee())
    with pytest.warns(UserWarning, match="this encoder can keep none"):
        CodeHead(10, 2689, 10, 1)


def test_a_head_of_another_code_is_refused():
    head, other = CodeHead(150, 374, 5, 0), CodeHead(200, 374, 5, 0, budget=150)
    with pytest.raises(
        RuntimeError, match=r"size mismatch|expected a code head of q = 11, 3 coefficients, length 11, k = 5"
    ):
        head.load_state_dict(other.state_dict())
    louder = CodeHead(150, 374, 5, 0, scale=4.0)
    with pytest.raises(
        RuntimeError, match=re.escape("k = 5, scale 0.5, got one of q = 11, 3 coefficients, length 11, k = 5, scale 4")
    ):
        head.load_state_dict(louder.state_dict())
    state = head.state_dict()
    state["symbols"] = state["symbols"] + 200
    with pytest.raises(RuntimeError, match="symbols: expected numbers from 0 to 10, got 210"):
        head.load_state_dict(state)
    assert head.guarantee().k == 5


def test_other_symbols_come_with_the_state_dict():
    head, other = CodeHead(150, 374, 5, 3), CodeHead(150, 374, 5, 3)
    head.symbols.copy_(head.symbols.flip(0).clone())
    other.load_state_dict(head.state_dict())
    other.load_state_dict(other.state_dict())
    x = torch.randn(3, 125)
    torch.testing.assert_close(other.logits(x), x @ other.weight.T)
    assert other.guarantee().level == "exact"


def test_gradients_of_gradients_are_those_of_the_product():
    head = CodeHead(150, 60, 2, 0, dtype=torch.float64)
    x = torch.randn(2, head.features, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(head.logits, x)
    assert torch.autograd.gradgradcheck(lambda t: head.logits(t).square(), x)


def test_it_can_be_mapped_and_differentiated_row_by_row():
    head = CodeHead(150, 60, 2, 0, dtype=torch.float64)
    x = torch.randn(3, head.features, dtype=torch.float64)
    torch.testing.assert_close(torch.vmap(head.logits)(x), head.logits(x))
    torch.testing.assert_close(torch.func.jacrev(head.logits)(x[0]), head.weight)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: CodeHead(40, 2689, 25, 0, budget=640),
            "k must be at most 12 for a code of 2689 labels in 640 columns",
        ),
        (lambda: CodeHead(40, 2689, 25, 0, budget=20), "budget must be larger for a code of 2689 labels in 20 columns"),
        (lambda: CodeHead(40, 100, 101, 0), "k must be at most n_labels = 100, got 101"),
        (lambda: CodeHead(40, 2**31, 3, 0), "n_labels must be at most 2147483647, since ones have 32-bit indices"),
        (lambda: CodeHead(40, 100, 0, 0), "k must be"),
        (lambda: CodeHead(40, 100, 3, -1), "slack must be"),
        (lambda: CodeHead(0, 100, 3, 0), "in_features must be"),
        (lambda: CodeHead(40, 100, 3, 0, scale=0.3), r"scale must be a power of two, got 0\.3"),
        (lambda: CodeHead(40, 100, 3, 0, scale=math.nan), "scale must be a power of two, got nan"),
        (lambda: CodeHead(40, 100, 3, 0, code=Code(11, 2, 3)), r"k must be at most 2 for Code\(q=11"),
        (lambda: CodeHead(999, 100, 3, 0, code=Code(12, 2, 4)), "code must have a power of a prime q"),
        (lambda: CodeHead(999, 100, 3, 0, code=Code(11, 2, 13)), "a length of at most q"),
        (lambda: CodeHead(999, 100, 3, 0, code=Code(7, 2, 4)), "n_labels must be at most 49, the number of codewords"),
    ],
)
@pytest.mark.filterwarnings("ignore:the head has")
def test_a_wrong_argument_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
