"""Weights that a file keeps sparse give what the same weights in a dense file give, and no verb makes a dense copy."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import labelproof as lp
from labelproof.importers import read_layer
from labelproof.importers.tables import arrays_of_weight
from labelproof.proof import standalone
from labelproof.proof.sparse_weights import SparseWeight
from running_verbs import report, run

N_LABELS, D = 12, 2300
SETS = [[0], [0, 5], [3, 4, 7], [2, 11], [1, 6, 11], [1, 2, 11], []]
NAMES = [f"topic {i}" for i in range(N_LABELS)]


def wide():
    """Labels that weigh a few terms each; the last one is for what the third is against."""
    rng = np.random.default_rng(3)
    weight = scipy.sparse.random_array((N_LABELS, D), density=0.01, rng=rng, data_sampler=rng.standard_normal).tolil()
    weight[11] = -weight[2]
    return weight.tocsr()


WEIGHT, BIAS = wide(), np.full(N_LABELS, -0.125)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The same layer dense, and sparse in two files."""
    monkeypatch.chdir(tmp_path)
    others = {"bias": BIAS, "label_names": np.array(NAMES)}
    np.savez("dense.npz", weight=WEIGHT.toarray(), **others)
    np.savez("sparse.npz", **arrays_of_weight(WEIGHT), **others)
    scipy.sparse.save_npz("scipy.npz", WEIGHT.tocsc())
    np.save("bias.npy", BIAS)
    Path("Y.txt").write_text("".join(" ".join(map(str, active)) + "\n" for active in SETS))
    return {"dense.npz": (), "sparse.npz": (), "scipy.npz": ("--bias", "bias.npy")}


@pytest.fixture
def no_copies(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a dense copy of all weights was made")

    monkeypatch.setattr(SparseWeight, "__array__", refuse)


@pytest.mark.parametrize("domain", ["nonnegative", "unit"])
def test_verify_check_and_the_standalone_checker_agree(files, no_copies, domain, capsys):
    found = {}
    for model, more in files.items():
        found[model] = report("verify", model, "-l", "Y.txt", "-o", "v.npz", "--domain", domain, *more)["status"]
        assert report("check", "v.npz", "--weights", model, *more)["proven"] is True
        assert standalone.main(["v.npz", model, *more[1:]]) == 0
        for other in files:  # the weights count, not their form
            assert report("check", "v.npz", "--weights", other, *files[other])["proven"] is True
    assert found["dense.npz"] == found["sparse.npz"] == found["scipy.npz"]
    assert {*found["dense.npz"]} == {0, 1}
    capsys.readouterr()


def test_explain_says_the_same(files, no_copies):
    for active in ("0,5", "2,11"):
        told = [
            report("explain", model, "--set", active, "--domain", "nonnegative", *more)
            for model, more in files.items()
            if model != "scipy.npz"  # which has no names
        ]
        for one in told:
            one.pop("witness", None)
            one.pop("margin", None)
        assert told[0] == told[1]


def test_audit_finds_the_same_and_keeps_the_weights_sparse(files, no_copies):
    documents = {}
    for model in ("dense.npz", "sparse.npz"):
        assert run("audit", model, "-l", "Y.txt", "--domain", "nonnegative", "-o", model[:-4]).exit_code == 0
        documents[model] = json.loads(Path(model[:-4], "audit.json").read_text())
    first, second = documents.values()
    assert first["headline"] == second["headline"]
    assert first["groups"] == second["groups"]
    assert {**first["layer"], "model": ""} == {**second["layer"], "model": ""} | {"source": first["layer"]["source"]}
    assert (first["layer"]["rank_at_least"], first["layer"]["n_features"]) == (N_LABELS - 1, D)
    kept = read_layer("sparse")
    assert scipy.sparse.issparse(kept.weight)
    assert (kept.weight != WEIGHT).nnz == 0
    assert report("check", "sparse/proofs-data.npz", "--weights", "sparse/layer.npz")["proven"] is True
    assert Path("sparse/layer.npz").stat().st_size < Path("dense/layer.npz").stat().st_size / 20


@pytest.mark.parametrize("how", [{"radius": True}, {"rule": "topk"}, {"rule": "sparsemax"}, {"domain": (-1.0, 1.0)}])
def test_other_questions_are_answered_alike(how):
    narrow = WEIGHT[:, np.unique(WEIGHT.indices)[:40]]
    sets = [active for active in SETS if active]
    found = [lp.verify(weight, sets, bias=BIAS, **how) for weight in (narrow.toarray(), narrow)]
    assert found[0].status.tolist() == found[1].status.tolist()
    found[1].check()
