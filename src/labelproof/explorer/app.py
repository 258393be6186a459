"""The explorer's server: a fixed set of files, and questions about label sets as JSON."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from labelproof.auditing.real_inputs import RealInputs
from labelproof.explorer import requests
from labelproof.explorer.explorer import Explorer
from labelproof.explorer.guard import HEADERS, Guard
from labelproof.explorer.prover import make_prover
from labelproof.explorer.stretches import Known, know
from labelproof.importers import ImportedLayer
from labelproof.importers.assumptions import AS_FOUND, Reading
from labelproof.pages import base_style
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import Ties

__all__ = ["make_app"]

STATIC = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/base.css": ("base.css", "text/css; charset=utf-8"),
    "/explorer.css": ("explorer.css", "text/css; charset=utf-8"),
    "/explorer.js": ("explorer.js", "text/javascript; charset=utf-8"),
    "/combobox.js": ("combobox.js", "text/javascript; charset=utf-8"),
    "/panels.js": ("panels.js", "text/javascript; charset=utf-8"),
    "/inputs.js": ("inputs.js", "text/javascript; charset=utf-8"),
    "/drawing.js": ("drawing.js", "text/javascript; charset=utf-8"),
    "/elements.js": ("elements.js", "text/javascript; charset=utf-8"),
    "/favicon.svg": ("favicon.svg", "image/svg+xml"),
}


def make_app(
    layer: ImportedLayer,
    *,
    label_names: Sequence[str] | None = None,
    label_sets: LabelSets | None = None,
    rule: Any = AS_FOUND,
    ties: Ties = "inactive",
    thresholds: Any = AS_FOUND,
    domain: Any = AS_FOUND,
    inputs: RealInputs | None = None,
    bar: float | None = None,
    alpha: float = 0.01,
    host: str = "127.0.0.1",
    progress: bool = False,
) -> FastAPI:
    """Make the explorer of one output layer.

    Parameters
    ----------
    layer
        What `labelproof.importers` read.
    label_names
        One for each label; default: the layer's own.
    label_sets
        Those of the examples of a data set, among which similar ones are looked for.
    rule, thresholds, domain
        As in `labelproof.verify`; default: the model's own.
    ties
        As in `labelproof.verify`; by default an inactive label may sit on the boundary, as in ``logits > 0``.
    inputs
        Features of real inputs, by which the stretch of combinations is measured, and of held-out ones for the bar.
    bar
        As an audit of the same inputs found it; by default it is measured.
    alpha
        Share of the predictions that may lie beyond the bar.
    host
        The address that the server binds to; requests that name another are refused.
    progress
        Whether to show how far the bar is.

    Returns
    -------
    FastAPI
        With ``app.state.explorer``, an `Explorer`.
    """
    names = layer.label_names if label_names is None else label_names
    prover = make_prover(layer, Reading(rule, thresholds, ties, domain), inputs=inputs)
    known = None
    if inputs is not None:
        how: dict[str, Any] = {"alpha": alpha, "size": prover.size, "progress": progress}
        known = know(prover.layer, inputs, **how) if bar is None else Known(inputs, bar, alpha)
    explorer = Explorer(layer, prover, names, label_sets, known)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.explorer = explorer
    app.add_middleware(Guard, host=host, most_bytes=requests.MOST_BYTES)
    for path, (name, kind) in STATIC.items():
        _serve_file(app, path, _contents(name), kind)
    _serve_questions(app, explorer)
    _serve_errors(app)
    return app


def _contents(name: str) -> bytes:
    """Return a file of the explorer's own, or the base of its style, which all pages share."""
    if name == "base.css":
        return base_style().encode()
    return files("labelproof.explorer").joinpath("static", name).read_bytes()


def _serve_file(app: FastAPI, path: str, contents: bytes, kind: str) -> None:
    @app.get(path)
    def static_file() -> Response:
        return Response(contents, media_type=kind, headers={"cache-control": "no-cache"})


def _serve_questions(app: FastAPI, explorer: Explorer) -> None:
    @app.get("/api/model")
    def model() -> Any:
        return JSONResponse(explorer.model())

    @app.get("/api/labels")
    def labels(q: Annotated[str, Query(max_length=200)] = "", limit: Annotated[int, Query(ge=1, le=50)] = 12) -> Any:
        return JSONResponse(explorer.labels(q, limit))

    @app.post("/api/verdict")
    def verdict(question: requests.Verdict) -> Any:
        return JSONResponse(explorer.verdict(question.labels, question.others))

    @app.post("/api/explanation")
    def explanation(question: requests.Explanation) -> Any:
        return JSONResponse(explorer.explanation(question.labels, question.seconds, question.page))

    @app.post("/api/similar")
    def similar(question: requests.Similar) -> Any:
        return JSONResponse(explorer.similar(question.labels, question.limit))

    @app.post("/api/verdicts")
    def verdicts(question: requests.ManySets) -> Any:
        return JSONResponse(explorer.statuses(question.sets))

    @app.post("/api/stretch")
    def stretch(question: requests.LabelSet) -> Any:
        return JSONResponse(explorer.stretch(question.labels))

    @app.post("/api/trial")
    def trial(question: requests.LabelSet) -> Any:
        return JSONResponse(explorer.trial(question.labels))

    @app.post("/api/drawing")
    def drawing(question: requests.Drawing) -> Any:
        return JSONResponse(explorer.drawing(question.labels, question.anchors))


def _serve_errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def wrong_request(request: Request, error: RequestValidationError) -> Response:  # noqa: ARG001
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
        return JSONResponse({"error": f"{where} is not as expected: {first['msg']}"}, 422)

    @app.exception_handler(ValueError)
    async def wrong_value(request: Request, error: ValueError) -> Response:  # noqa: ARG001
        return JSONResponse({"error": str(error)}, 400)

    @app.exception_handler(HTTPException)
    async def not_there(request: Request, error: HTTPException) -> Response:  # noqa: ARG001
        return JSONResponse({"error": str(error.detail)}, error.status_code)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:  # noqa: ARG001
        sentence = "the explorer failed to answer; the terminal says more"
        return JSONResponse({"error": sentence}, 500, headers=HEADERS)  # outside of the guard, which adds them
