"""Audit documents to make reports from: a small one that is computed and proven, and a large one that is made up."""

import copy
from itertools import product

import numpy as np

import labelproof as lp
from labelproof.auditing.document import CHECK_COMMAND, CHECK_PAIRS, CHECK_REACH, CHECK_STRETCH
from labelproof.explaining.small_conflicts import shares
from labelproof.proof.certificates import Unargmaxable

HOW = ("Acute", "Chronic", "Recurrent", "Congenital", "Secondary", "Post-operative", "Drug-induced", "Unspecified")
WHAT = ("inflammation", "stenosis", "infection", "insufficiency", "fracture", "neoplasm", "haemorrhage", "ulcer")
WHERE = (
    "aortic valve",
    "left ventricle",
    "upper lobe of the lung",
    "small intestine",
    "kidney",
    "spinal canal",
    "liver",
)
GREEK = ("α", "β", "γ", "δ", "ε", "ζ", "η", "θ", "ι", "κ", "λ", "μ", "ν", "ξ", "ο", "π", "ρ", "σ", "τ", "υ", "φ", "χ")
LARGEST_EXPLAINED = 6


def realistic_names(n_labels):
    names = [f"{how} {what} of the {where}" for how, what, where in product(HOW, WHAT, WHERE)]
    rng = np.random.default_rng(0)
    rng.shuffle(names)
    return [
        f"{names[i % len(names)]}{f', type {GREEK[0]}{i // len(names)}' if i >= len(names) else ''}"
        for i in range(n_labels)
    ]


def small_document(*, seed=0, n_labels=60, d=6, n_sets=240, model="cardio-notes-v3"):
    """Audit a random layer for real, at a size that takes about a second."""
    rng = np.random.default_rng(seed)
    weight, bias = rng.normal(size=(n_labels, d)), rng.normal(-3.0, 0.6, n_labels)
    sets, counts = _distinct_sets(weight, bias, rng, n_sets)
    v = lp.verify(weight, sets, bias=bias, ties="inactive", radius=True, n_jobs=1)
    status = v.status.tolist()
    group = make_group("data", "Label sets of the data", sets, counts, status)
    group["margin"] = _known(v.margin)
    group["radius"] = _known(v.radius)
    group["conflict_size"] = [
        len(c.conflict) if isinstance(c := v[i], Unargmaxable) else None for i in range(len(sets))
    ]
    document = make_document(model, realistic_names(n_labels), d, [group])
    document["conflict_labels"] = _conflict_labels(v, counts)
    lost = sorted((i for i, s in enumerate(status) if s == 0), key=lambda i: (-counts[i], i))
    document["explained"] = [
        _explained(weight, bias, i, sets[i], counts[i], document["label_names"]) for i in lost[:LARGEST_EXPLAINED]
    ]
    return document


def completed(document):
    """Return a copy of a small audit with everything that an audit can hold."""
    document = copy.deepcopy(document)
    data, rng = document["groups"][0], np.random.default_rng(1)
    can = [s == 1 for s in data["status"]]
    data["reach"] = [float(np.exp(rng.normal(2.2, 0.5))) if ok else None for ok in can]
    data["survives"] = [bool(m > 0.01) if ok else None for ok, m in zip(can, data["margin"], strict=True)]
    known = [r for r in data["reach"] if r is not None]
    document["reach"] = {
        "examples": 1200,
        "quantiles": [[0.5, 7.9], [0.99, 11.2], [1.0, 14.0]],
        "within": sum(r <= 14.0 for r in known),
        "beyond": sum(r > 14.0 for r in known),
        "check_command": CHECK_REACH,
        "bar": None,
        "beyond_bar": None,
    }
    survive = sum(s is True for s in data["survives"])
    document["serving"] = {
        "dtype": "bfloat16", "checked": sum(can), "survive": survive, "not_shown": sum(can) - survive,
    }  # fmt: skip
    pairs = [[i, j] for i in range(30) for j in range(i)]
    triples = [[i, i + 1, i + 9] for i in range(40)]
    document["groups"] += [
        make_group("pairs", "All pairs of labels", pairs, [0] * len(pairs), [int(sum(p) % 7 != 0) for p in pairs]),
        make_group(
            "triples", "Triples of labels", triples, [0] * 40, [int(i % 3 == 0) for i in range(40)],
            population=34220, low=0.22, high=0.50,
        ),
        make_group(
            "required", "Required label sets", data["labels"][:4], data["counts"][:4], data["status"][:4],
            names=["valve repair follow-up", "sepsis with kidney failure", "routine check", "stroke work-up"],
        ),
        make_group("predicted", "Predictions of the model", data["labels"][4:9], [9, 5, 3, 2, 1], [1] * 5),
    ]  # fmt: skip
    failed = [i for i, s in enumerate(document["groups"][3]["status"]) if s != 1]
    share = data["argmaxable"] / len(data["labels"])
    document["requirements"] = {
        "passed": not failed and share >= 0.9, "fail_under": 0.9, "share": share, "failed": failed,
    }  # fmt: skip
    document["advice"] = [
        {
            "title": "More features",
            "text": "An estimate: with 14 features all label sets of the data could be predicted.",
        },
        {"title": "A head with a guarantee", "text": "DFTHead(k=5, slack=8) can predict every set of up to 5 labels."},
    ]
    document["layer"]["never_active"] = [3]
    return document


def big_document(*, n_labels=9000, n_sets=10_000, cardinality=16, seed=0):
    """Make up an audit of the largest size that a report must show; its verdicts are random."""
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.poisson(cardinality, n_sets), 1, 60)
    sets = [sorted(rng.choice(n_labels, size, replace=False).tolist()) for size in sizes]
    counts = np.clip(rng.zipf(1.8, n_sets), 1, 4000).tolist()
    status = rng.choice([1, 0, -1], n_sets, p=[0.82, 0.17, 0.01]).tolist()
    group = make_group("data", "Label sets of the data", sets, counts, status)
    group["margin"] = [float(np.exp(rng.normal(-6, 1.5))) if s == 1 else None for s in status]
    group["radius"] = [float(np.exp(rng.normal(0, 2))) if s == 1 else None for s in status]
    group["reach"] = [float(np.exp(rng.normal(2.5, 0.4))) if s == 1 else None for s in status]
    group["survives"] = [bool(rng.random() > 0.1) if s == 1 else None for s in status]
    group["conflict_size"] = [51 if s == 0 else None for s in status]
    document = make_document("icd-coder", realistic_names(n_labels), 50, [group])
    lost = [i for i, s in enumerate(status) if s == 0][:40]
    document["explained"] = [_made_up(group, i, n_labels, rng) for i in lost]
    document["conflict_labels"] = [
        {"label": int(i), "sets": 900 - 20 * rank, "examples": 3000 - 60 * rank}
        for rank, i in enumerate(rng.choice(n_labels, 25, replace=False))
    ]
    document["reach"] = {
        "examples": 52_000, "quantiles": [[0.5, 7.1], [0.99, 13.0], [1.0, 22.0]], "within": 8000, "beyond": 200,
        "check_command": CHECK_REACH,
        "bar": None, "beyond_bar": None,
    }  # fmt: skip
    document["serving"] = {"dtype": "float32", "checked": 8200, "survive": 7400, "not_shown": 800}
    return document


def stretched(document, *, bar=1.5):
    """Return a copy of an audit whose stretch was measured, as that of a wide model: numbers are made up."""
    document = copy.deepcopy(document)
    data, rng = document["groups"][0], np.random.default_rng(2)
    n_sets, sizes = len(data["labels"]), data["counts"]
    lower = [round(float(x), 3) for x in np.exp(rng.normal(0.2, 0.6, n_sets))]
    data["stretch_lower"] = [None if s == 0 else x for s, x in zip(data["status"], lower, strict=True)]
    data["stretch_upper"] = [None if x is None else x * 1.004 for x in data["stretch_lower"]]
    beyond = [x is None or x > (bar or 1.0) for x in data["stretch_lower"]]
    data["beyond"] = beyond if bar else None
    lost = sum(c for c, far in zip(sizes, beyond, strict=True) if far)
    document["stretch"] = {
        "examples": 5000, "source": "the training part", "sha256": "ab" * 32, "held_out": "the test part",
        "bar": _made_up_bar(bar) if bar else None,
        "beyond_sets": sum(beyond), "beyond_examples": lost, "all_examples": sum(sizes),
        "exact_beyond": 0, "exact": 17, "predicted": sum(sizes),
        "instructive": [_made_up_example(data, i) for i in [i for i, far in enumerate(beyond) if far][:3]],
        "n_pairs": 400, "n_apart": 210,
        "pairs": [{"labels": [i, i + 1], "examples": 90 - i, "lower": 1.2 + i / 10} for i in range(24)],
        "n_dead": 3, "n_dead_true": 2,
        "dead": [
            {"label": 4, "examples": 31, "reason": "off at every mixture of the inputs"},
            {"label": 9, "examples": 2, "reason": ""}, {"label": 11, "examples": 0, "reason": ""},
        ],
        "inputs": 6000, "narrow": [3, 5], "check_command": CHECK_STRETCH, "check_pairs": CHECK_PAIRS,
    }  # fmt: skip
    share = 100 * lost / sum(sizes)
    document["headline"] = (
        f"{share:.1f} % of your examples have label sets beyond the bar; all such sets together get at most 1 % of "
        "this model's predictions, with 95 % confidence. Every one of them can be predicted by the output layer."
    )
    document["outside"] = {
        "sets": 3, "examples": 4, "reason": "The model does not know 2 labels of the data.",
        "unknown": [{"name": "zoster", "examples": 3}, {"name": "yaws", "examples": 1}], "sizes": 0,
        "frequent": [["zoster"], ["yaws", "zoster"]],
    }  # fmt: skip
    return document


def untested(document):
    """Return a copy of an audit without features, in which everything can be predicted."""
    document = copy.deepcopy(document)
    data = document["groups"][0]
    keep = [i for i, status in enumerate(data["status"]) if status == 1]
    group = make_group("data", data["title"], [data["labels"][i] for i in keep], [1] * len(keep), [1] * len(keep))
    document = make_document("notes-coder", document["label_names"], 6, [group])
    command = "labelproof audit notes-coder --labels notes.jsonl --features F.npy --calibration C.npy"
    document["not_tested"] = [{"what": "Whether real inputs give these sets.", "command": command}]
    return document


def renamed(document, names):
    """Return a copy in which the first labels have other names."""
    other = copy.deepcopy(document)
    other["label_names"][: len(names)] = names
    return other


def make_group(name, title, sets, counts, status, **more):
    """Put verdicts on label sets into a group, and count them."""
    by_size = []
    for size in sorted({len(labels) for labels in sets}):
        which = [i for i, labels in enumerate(sets) if len(labels) == size]
        by_size.append(
            {"size": size, "sets": len(which), **_tally([status[i] for i in which], [counts[i] for i in which])}
        )
    return {
        "name": name, "title": title, "population": None, "low": None, "high": None,
        "labels": sets, "counts": counts, "status": status,
        "margin": [None] * len(sets), "radius": None, "reach": None, "survives": None,
        **dict.fromkeys(("stretch_lower", "stretch_upper", "beyond", "reach_lower", "reach_share")),
        "conflict_size": [None] * len(sets), "names": None, "by_size": by_size, **_tally(status, counts), **more,
    }  # fmt: skip


def make_document(model, names, d, groups):
    """Put groups into a document, the data's first."""
    data = groups[0]
    return {
        "format": "labelproof-audit", "version": 2, "labelproof": "0.1.0",
        "headline": _headline(data),
        "layer": {
            "model": model, "kind": "Hugging Face folder", "source": "classifier.weight of model.safetensors",
            "n_labels": len(names), "n_features": d, "dtype": "float32", "rank": d, "rank_at_least": d,
            "bias": True, "before": None,
            "domain": "every input", "rule": "sigmoid", "ties": "inactive", "thresholds": "½", "sha256": "3f" * 32,
            "domain_reason": "Nothing is known of what stands before the layer, so every input is allowed.",
            "always_active": [], "never_active": [], "notes": [],
        },
        "label_names": names,
        "data": {
            "name": "notes-test.jsonl", "examples": data["examples"], "distinct": len(data["labels"]),
            "cardinality": np.dot(list(map(len, data["labels"])), data["counts"]) / max(1, data["examples"]),
            "largest": max(map(len, data["labels"]), default=0),
        },
        "groups": groups, "explained": [], "conflict_labels": [], "reach": None, "serving": None, "advice": [],
        "stretch": None, "outside": None, "not_tested": [], "requirements": None, "check_command": CHECK_COMMAND,
        "seconds": 12.3,
    }  # fmt: skip


def _distinct_sets(weight, bias, rng, n_sets):
    """Half of them from inputs, so that the layer can predict them; half with one label changed."""
    found = {}
    while len(found) < n_sets:
        active = np.flatnonzero(weight @ rng.normal(size=weight.shape[1]) * 1.3 + bias > 0)
        labels = set(active.tolist())
        if len(found) % 2:
            labels ^= {int(rng.integers(len(weight)))}
        if labels:
            found[tuple(sorted(labels))] = int(min(rng.zipf(1.7), 400))
    return [list(labels) for labels in found], list(found.values())


def _headline(data):
    lost = data["examples"] - data["argmaxable_examples"]
    return (
        f"{data['unargmaxable']:,} of {len(data['labels']):,} distinct label sets can never be predicted, whatever the "
        f"input. Those are the label sets of {lost:,} of {data['examples']:,} examples."
    )


def _tally(status, counts):
    can = sum(c for c, s in zip(counts, status, strict=True) if s == 1)
    verdicts = {"argmaxable": status.count(1), "unargmaxable": status.count(0), "undecided": status.count(-1)}
    return {**verdicts, "examples": sum(counts), "argmaxable_examples": can}


def _known(numbers):
    return [float(x) if np.isfinite(x) else None for x in numbers]


def _explained(weight, bias, i, labels, count, names):
    found = lp.explain(weight, labels, bias=bias, ties="inactive", label_names=names, n_nearest=2, time_limit=0.1)
    on = [label for label in found.certificate.conflict if label in labels]
    off = [label for label in found.certificate.conflict if label not in labels]
    share = dict(zip(found.certificate.conflict, shares(found.certificate), strict=True))
    extra = list(found.certificate.extra)
    return {
        "group": "data", "index": i, "labels": labels, "examples": count, "on": on, "off": off, "extra": extra,
        "shares": [share[label] for label in on + off] + [0.0] * len(extra), "irreducible": found.irreducible,
        "sentences": str(found).splitlines(), "least_distance": found.least_distance,
        "nearest": [
            {"added": list(n.added), "removed": list(n.removed), "is_minimal": n.is_minimal} for n in found.nearest
        ],
    }  # fmt: skip


def _made_up_bar(value):
    return {
        "value": value, "alpha": 0.01, "confidence": 0.95, "n": 1500, "rank": 8, "sha256": "cd" * 32,
        "statement": "With 95 % confidence, all sets beyond the bar together get at most 1 %.",
        "assumption": "It assumes inputs drawn like these.",
    }  # fmt: skip


def _made_up_example(group, i):
    labels = group["labels"][i]
    on, off = labels[:2], [label for label in range(60) if label not in labels][:3]
    shares = [1 / len(on + off)] * len(on + off)
    return {
        "index": i, "labels": labels, "examples": group["counts"][i], "lower": group["stretch_lower"][i],
        "on": on, "off": off, "shares": shares, "row": i, "text": "A note on a patient, in a few words …",
        "predicted": off[:1] if i % 2 else [], "sentence": "All of it in words.",
    }  # fmt: skip


def _made_up(group, i, n_labels, rng):
    on, off = group["labels"][i][:8], []
    while len(off) < 43:
        off = sorted(set(rng.choice(n_labels, 43, replace=False).tolist()) - set(group["labels"][i]))
    return {
        "group": "data", "index": i, "labels": group["labels"][i], "examples": group["counts"][i], "on": on, "off": off,
        "extra": [], "shares": rng.dirichlet(np.full(len(on) + len(off), 0.4)).tolist(), "irreducible": True,
        "sentences": ["No input gives this label set.", "51 decisions contradict each other."],
        "nearest": [
            {"added": [], "removed": on[:1], "is_minimal": True},
            {"added": off[:2], "removed": [], "is_minimal": False},
        ],
        "least_distance": 1,
    }  # fmt: skip


def _conflict_labels(v, counts):
    sets, examples = {}, {}
    for i in np.flatnonzero(v.status == 0).tolist():
        for label in v[i].conflict:
            sets[label] = sets.get(label, 0) + 1
            examples[label] = examples.get(label, 0) + counts[i]
    rows = [{"label": label, "sets": sets[label], "examples": examples[label]} for label in sets]
    return sorted(rows, key=lambda row: (-row["examples"], row["label"]))[:20]
