"""Read audit.json, checking the form of what the report is made from; nothing in it is trusted."""

import os
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

from labelproof.auditing.document import CHECK_COMMAND, CHECK_REACH, FORMAT, VERSION, AuditDocument
from labelproof.auditing.reading_stretch import fault_beyond_verdicts
from labelproof.errors import DataFormatError
from labelproof.foundation.arguments import is_share_reached
from labelproof.foundation.json_files import read_json
from labelproof.foundation.writing import recover

__all__ = ["read_document"]

OTHERS = {"labelproof-vocabulary": "a vocabulary", "labelproof-index": "an index"}
LARGEST = 500_000_000  # bytes
LARGEST_NUMBER = 1e300
NEW_IN_GROUPS = ("stretch_lower", "stretch_upper", "beyond", "reach_lower", "reach_share")
PARALLEL = ("counts", "status", "margin", "radius", "reach", "survives", "conflict_size", "names", *NEW_IN_GROUPS)


def read_document(path: str | os.PathLike[str]) -> AuditDocument:
    """Read the document of an audit from its folder, or from the file ``audit.json`` itself.

    Parameters
    ----------
    path
        Of the folder or of the file.

    Returns
    -------
    AuditDocument

    Raises
    ------
    DataFormatError
        If it is no such file, one of a newer version, or not of the form that `document` describes.

    Examples
    --------
    >>> import tempfile
    >>> import labelproof as lp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lp.audit([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [[0], [0, 1, 2]]).save(f"{folder}/audit")
    ...     document = read_document(f"{folder}/audit")
    >>> document["groups"][0]["unargmaxable"]
    1
    """
    file = Path(path)
    recover(file)
    if file.is_dir():
        file = file / "audit.json"
    if not file.is_file():
        raise DataFormatError(f"{file}: no such file (expected the folder of an audit, or its audit.json)")
    try:
        contents = read_json(file, where="", most_bytes=LARGEST, finite=True)
    except ValueError as error:
        raise DataFormatError(f"{file.name}: expected the folder of an audit, or its audit.json; {error}") from error
    if isinstance(contents, dict) and contents.get("format") in OTHERS:
        raise DataFormatError(
            f"{file.name}: expected the audit of a model's label sets, got that of {OTHERS[contents['format']]}, "
            "whose report.html is next to it"
        )
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise DataFormatError(f"{file.name}: expected the document of an audit, got something else")
    if contents.get("version") == 1:
        contents = _of_version_1(contents)
    if contents.get("version") != VERSION:
        raise DataFormatError(
            f"{file.name}: expected version {VERSION} of the format, got {contents.get('version')!r} "
            "(written by a newer labelproof?)"
        )
    fault = _fault(contents, AuditDocument, "the document") or _inconsistency(contents)
    if fault is not None:
        raise DataFormatError(f"{file.name}: {fault}")
    checked: AuditDocument = contents
    return checked


def _of_version_1(contents: dict[str, Any]) -> dict[str, Any]:
    """Return a document of version 1 as one of today: nothing was measured on real inputs but the reach."""
    groups = contents.get("groups")
    for group in groups if isinstance(groups, list) else []:
        if isinstance(group, dict):
            group |= dict.fromkeys(NEW_IN_GROUPS)
    if isinstance(contents.get("reach"), dict):
        contents["reach"] |= {"bar": None, "beyond_bar": None, "check_command": CHECK_REACH}
    return {**contents, "stretch": None, "outside": None, "not_tested": [], "version": VERSION}


def _fault(value: Any, kind: Any, where: str) -> str | None:
    """Return how a value differs from its type, or None."""
    if is_typeddict(kind):
        if not isinstance(value, dict):
            return f"expected an object for {where}, got {type(value).__name__}"
        for key, its_kind in get_type_hints(kind).items():
            if key not in value:
                return f"expected {key!r} in {where}, got none"
            if fault := _fault(value[key], its_kind, f"{where}'s {key}"):
                return fault
        return None
    if get_origin(kind) is list:
        if not isinstance(value, list):
            return f"expected a list for {where}, got {type(value).__name__}"
        return next((fault for item in value if (fault := _fault(item, get_args(kind)[0], where))), None)
    options = get_args(kind) or (kind,)
    if any(is_typeddict(option) or get_origin(option) is list for option in options):
        faults = [_fault(value, option, where) for option in options if option is not type(None)]
        return None if value is None or None in faults else faults[0]
    allowed = (*options, int) if float in options else options
    if type(value) not in allowed:
        return f"expected {' or '.join(option.__name__ for option in options)} for {where}, got {value!r:.60}"
    if isinstance(value, int | float) and not abs(value) < LARGEST_NUMBER:
        return f"expected a number below {LARGEST_NUMBER:.0e} for {where}, got a larger one"
    return None


def _inconsistency(document: dict[str, Any]) -> str | None:
    """Return where lists that belong together do not, or a label that does not exist."""
    n_labels = document["layer"]["n_labels"]
    if len(document["label_names"]) != n_labels:
        return f"expected {n_labels} label names, got {len(document['label_names'])}"
    if not document["groups"] or document["groups"][0]["name"] != "data":
        return "expected the group 'data' first, got another or none"
    sizes = {}
    for group in document["groups"]:
        n_sets = sizes[group["name"]] = len(group["labels"])
        for key in PARALLEL:
            if group[key] is not None and len(group[key]) != n_sets:
                return f"expected {n_sets} entries in {key} of the group {group['name']!r}, got {len(group[key])}"
        if any(not 0 <= label < n_labels for labels in group["labels"] for label in labels):
            return f"expected labels from 0 to {n_labels - 1} in the group {group['name']!r}, got others"
        if any(status not in (-1, 0, 1) for status in group["status"]):
            return f"expected a status of 1, 0 or -1 in the group {group['name']!r}, got another"
        if any(group[key] != value for key, value in _totals(group).items()):
            return f"expected totals of the group {group['name']!r} that its label sets add up to, got others"
    if len(sizes) < len(document["groups"]):
        return "expected each group once, got one twice"
    if document["check_command"] != CHECK_COMMAND:
        return f"expected the command {CHECK_COMMAND!r}, got another"
    return (
        _false_promise(document, sizes)
        or _loose_reference(document, n_labels, sizes)
        or fault_beyond_verdicts(document, n_labels)
    )


def _totals(group: dict[str, Any]) -> dict[str, Any]:
    """Return what the lists of a group add up to."""
    rows = list(zip(group["labels"], group["status"], group["counts"], strict=True))
    by_size = []
    for size in sorted({len(labels) for labels, _, _ in rows}):
        here = [(status, count) for labels, status, count in rows if len(labels) == size]
        by_size.append({"size": size, "sets": len(here), **_verdicts(here)})
    if any(count < 0 for count in group["counts"]):
        return {"counts": None}  # no list of counts is that
    return {"by_size": by_size, **_verdicts([(status, count) for _, status, count in rows])}


def _verdicts(rows: list[tuple[int, int]]) -> dict[str, int]:
    found = [status for status, _ in rows]
    return {
        "examples": sum(count for _, count in rows),
        "argmaxable": found.count(1),
        "unargmaxable": found.count(0),
        "undecided": found.count(-1),
        "argmaxable_examples": sum(count for status, count in rows if status == 1),
    }


def _false_promise(document: dict[str, Any], sizes: dict[str, int]) -> str | None:
    """Return a word about requirements that the groups do not bear out."""
    requirements = document["requirements"]
    if requirements is None:
        return None
    required = next((group for group in document["groups"] if group["name"] == "required"), None)
    if any(not 0 <= i < sizes.get("required", 0) for i in requirements["failed"]):
        return "expected requirements of the group 'required', got others"
    failed = [] if required is None else [i for i, status in enumerate(required["status"]) if status != 1]
    data, least = document["groups"][0], requirements["fail_under"]
    n_sets = len(data["status"]) + (0 if document["outside"] is None else document["outside"]["sets"])
    enough = least is None or is_share_reached(data["argmaxable"], n_sets, least)
    if requirements["failed"] != failed or requirements["passed"] != (not failed and enough):
        return "expected requirements that fail where verdicts do, got others"
    return None


def _loose_reference(document: dict[str, Any], n_labels: int, sizes: dict[str, int]) -> str | None:
    mentioned = [*document["layer"]["always_active"], *document["layer"]["never_active"]]
    mentioned += [one["label"] for one in document["conflict_labels"]]
    for one in document["explained"]:
        if not 0 <= one["index"] < sizes.get(one["group"], 0):
            return f"expected a set of a group, got {one['index']} of {one['group']!r}"
        mentioned += [*one["labels"], *one["on"], *one["off"]]
        mentioned += [label for near in one["nearest"] for label in near["added"] + near["removed"]]
    unknown = next((label for label in mentioned if not 0 <= label < n_labels), None)
    if unknown is not None:
        return f"expected labels from 0 to {n_labels - 1}, got {unknown}"
    return None
