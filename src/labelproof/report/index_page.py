"""The report of an index's audit: which relevant documents no query vector returns, by width and by depth."""

from labelproof.auditing.index_document import AtDepth, IndexDocument
from labelproof.foundation.wording import percent, plural
from labelproof.pages.names import visible
from labelproof.report.audit_page import Findings, Listing, Proof, Topic
from labelproof.report.bars import verdict_bar
from labelproof.report.lines import KINDS, Line, share_lines
from labelproof.report.shown_numbers import number
from labelproof.report.summary import Figure

__all__ = ["index_page"]

MOST_QUERIES = 3


def index_page(document: IndexDocument) -> Findings:
    """Lay out the audit of an index.

    Parameters
    ----------
    document
        Of `labelproof.auditing.audit_index`.

    Returns
    -------
    Findings
        For `render_findings`.

    Examples
    --------
    >>> from labelproof.auditing import audit_index
    >>> documents = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1]]
    >>> index_page(audit_index(documents, [[0], [3]], widths=[2]).document).headline
    'At width 2, 1 of 2 queries has relevant documents that no query vector ranks above all others.'
    """
    index, full = document["index"], document["widths"][-1]["depths"][0]
    narrowest = document["narrowest"]
    figures = (
        Figure(f"{index['n_documents']:,}", f"documents of {plural(index['n_features'], 'number')} each"),
        Figure(f"{full['queries']:,}", f"queries with {plural(index['n_sets'], 'distinct set')} of relevant documents"),
        Figure(
            percent(full["possible"], full["queries"]), f"possible at width {document['widths'][-1]['width']}", "can"
        ),
        Figure(f"{full['impossible']:,}", "impossible for every query vector", "cannot" if full["impossible"] else ""),
        Figure("–" if narrowest is None else f"{narrowest}", "numbers per document suffice for all of them"),
    )
    bars = tuple(
        (f"Width {row['width']}", verdict_bar(at["possible"], at["impossible"], at["open"]))
        for row in document["widths"]
        for at in row["depths"][:1]
    )
    is_open = any(at["open"] for row in document["widths"] for at in row["depths"])
    is_undecided = any(row["depths"][0]["open"] for row in document["widths"])
    return Findings(
        title=index["name"],
        headline=document["headline"],
        figures=figures,
        bars=bars,
        legend=((1, "some query vector returns the relevant documents"), (0, "none does, with proof"))
        + (((-1, "not decided"),) if is_undecided else ()),
        topics=(_sweep(document), *([_list(document)] if document["impossible"] else []), _meaning(document)),
        facts=_facts(document),
        proofs=_proofs(is_open),
        commands=tuple(row["check_command"] for row in document["widths"]),
        foot=f"Audited in {number(document['seconds'])} s with labelproof {document['labelproof']}.",
    )


def _called(at: AtDepth) -> str:
    return "as many as relevant" if at["k"] is None else f"best {at['k']:,}"


def _sweep(document: IndexDocument) -> Topic:
    rows = document["widths"]
    columns = [at["k"] for at in rows[0]["depths"]]
    lines = [
        Line(
            "all on top" if k is None else f"in the best {k:,}",
            tuple(_share(row["depths"][place]) for row in rows),
        )
        for place, k in enumerate(columns[:KINDS])
    ]
    words = "; ".join(
        f"width {row['width']}: {percent(row['depths'][0]['possible'], row['depths'][0]['queries'])}" for row in rows
    )
    picture = share_lines(
        [row["width"] for row in rows],
        lines,
        f"Share of queries that are possible. {words}.",
        "numbers kept of each vector",
    )
    heads = [("Width", "figure"), *((_called(at), "figure") for at in rows[0]["depths"]), ("Seconds", "figure")]
    table = tuple((f"{row['width']}", *(_cell(at) for at in row["depths"]), number(row["seconds"])) for row in rows)
    return Topic(
        "sweep",
        "How far may vectors be cut?",
        (
            "Queries whose relevant documents some vector ranks above all others (“as many as relevant”), or has among "
            "its best k, when every document keeps only its first numbers.",
        ),
        picture=picture,
        table=Listing(tuple(heads), table),
        note="“+ n open”: neither was proven within the limits of the search.",
    )


def _share(at: AtDepth) -> float | None:
    return at["possible"] / at["queries"] if at["queries"] else None


def _cell(at: AtDepth) -> str:
    if not at["queries"]:
        return "–"
    return f"{percent(at['possible'], at['queries'])}" + (f" + {at['open']:,} open" if at["open"] else "")


def _list(document: IndexDocument) -> Topic:
    rows = tuple(
        (
            _queries(one["queries"]),
            one["sentence"],
            f"{one['least']:,}" if one["most"] == one["least"] else _range(one["least"], one["most"]),
        )
        for one in document["impossible"]
    )
    width = document["impossible"][0]["width"]
    return Topic(
        "impossible",
        f"What no query vector returns at width {width}",
        ("The first sets of relevant documents that are impossible, and the documents that stand in their way.",),
        table=Listing((("Query", ""), ("Why not", "labels"), ("Needs the best", "figure")), rows),
    )


def _range(least: int, most: int | None) -> str:
    return f"{least:,} or more" if most is None else f"{least:,} to {most:,}"


def _queries(queries: list[str]) -> str:
    shown = ", ".join(visible(query) for query in queries[:MOST_QUERIES])
    return shown + (f" and {len(queries) - MOST_QUERIES:,} more" if len(queries) > MOST_QUERIES else "")


def _meaning(document: IndexDocument) -> Topic:
    return Topic("meaning", "What this says", tuple(document["notes"]))


def _facts(document: IndexDocument) -> tuple[tuple[str, str], ...]:
    index = document["index"]
    sizes = (
        f"{index['smallest']}"
        if index["smallest"] == index["largest"]
        else f"{index['smallest']} to {index['largest']}"
    )
    return (
        ("Index", index["name"]),
        ("Documents", f"{index['n_documents']:,}, {plural(index['n_features'], 'number')} each, {index['dtype']}"),
        ("Ranked by", "cosine, as the dot product with normalised vectors" if index["cosine"] else "dot product"),
        (
            "Queries",
            f"{index['n_queries']:,}, with {sizes} relevant documents each",
        ),
        ("Query vectors", "every vector of that width; those that an encoder gives are among them"),
    )


def _proofs(is_open: bool) -> tuple[Proof, ...]:
    found = [
        Proof(
            1,
            "possible",
            "A query vector was found whose products with the relevant documents exceed those with all others, by more "
            "than rounding can do, or in exact arithmetic.",
        ),
        Proof(
            0,
            "impossible",
            "Documents were found whose products, with positive weights, cancel for every query vector. For depths, "
            "every way to let others in was refuted so. The stored numbers are taken as exact; no tolerance enters.",
        ),
    ]
    if is_open:
        found.append(Proof(-1, "not decided", "Too many ways to let others in, or the time limit came first."))
    return tuple(found)
