"""Serve the explorer on this machine until it is stopped."""

import socket
import sys
import webbrowser
from collections.abc import Sequence
from threading import Timer
from typing import TYPE_CHECKING, Any

from labelproof.auditing import AS_FOUND
from labelproof.auditing.real_inputs import RealInputs
from labelproof.explorer.guard import is_loopback
from labelproof.foundation.optional_packages import need
from labelproof.foundation.threads import one_blas_thread
from labelproof.importers import ImportedLayer
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import Ties

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["make_app", "serve"]


def make_app(layer: ImportedLayer, **options: Any) -> "FastAPI":
    """Make the explorer of one output layer, as an app for a server of your own.

    Parameters
    ----------
    layer
        The output layer, weight (n_labels, n_features), as `labelproof.importers.read_layer` gives it.
    **options
        The options are those of `labelproof.explorer.app.make_app`.

    Returns
    -------
    FastAPI

    Examples
    --------
    >>> from labelproof.importers import layer_of
    >>> app = make_app(layer_of([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), label_names=["cat", "dog", "bird"])
    >>> type(app).__name__
    'FastAPI'
    """
    for package in ("fastapi", "uvicorn"):
        need(package, "the explorer")
    from labelproof.explorer.app import make_app as make

    return make(layer, **options)


def serve(
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
    port: int = 0,
    open_browser: bool = False,
) -> None:
    """Serve the explorer of one output layer until Ctrl-C; prints its address.

    Parameters
    ----------
    layer, label_names, label_sets, rule, ties, thresholds, domain, inputs, bar, alpha
        As for `make_app`.
    host
        Address to bind to. Other addresses than this machine's own let others on the network in.
    port
        0 for any that is free.
    open_browser
        Also open the page.

    Examples
    --------
    >>> from labelproof.importers import layer_of
    >>> layer = layer_of([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> serve(layer, label_names=["cat", "dog", "bird"], open_browser=True)  # doctest: +SKIP
    """
    if not 0 <= port <= 65535:
        raise ValueError(f"port must be a number from 0 to 65535, got {port}")
    print("preparing the layer …", file=sys.stderr, flush=True)
    app = make_app(
        layer,
        label_names=label_names,
        label_sets=label_sets,
        rule=rule,
        ties=ties,
        thresholds=thresholds,
        domain=domain,
        inputs=inputs,
        bar=bar,
        alpha=alpha,
        host=host,
        progress=sys.stderr.isatty(),
    )
    with one_blas_thread(), _listening(host, port) as listener:
        app.state.explorer.warm_up()
        url = _url(host, listener.getsockname()[1])
        if not is_loopback(host):
            print(f"warning: whoever reaches {host} on the network can ask about this model.", file=sys.stderr)
        print(f"The explorer is at {url} (Ctrl-C ends it).", flush=True)
        if open_browser:
            Timer(0.3, webbrowser.open, [url]).start()
        _run(app, listener)
    print("The explorer has ended.")


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise ValueError(f"host and port must be free on this machine, got {host} and {port}: {error}") from error
    return listener


def _url(host: str, port: int) -> str:
    name = "127.0.0.1" if host == "0.0.0.0" else "[::1]" if host == "::" else f"[{host}]" if ":" in host else host  # noqa: S104
    return f"http://{name}:{port}/"


def _run(app: "FastAPI", listener: socket.socket) -> None:
    import uvicorn

    from labelproof.explorer.patience import PatientProtocol

    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        app.state.explorer.searches.cancel_all()
