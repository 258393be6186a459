"""How tests make explorers of small models: in this process, or behind a real socket for the browser."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import numpy as np
import uvicorn
from starlette.testclient import TestClient

from labelproof.explorer import make_app
from labelproof.importers import ImportedLayer
from labelproof.proof.labels import read_label_sets

TRIANGLE = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])  # the first figure of the paper: 6 of 8 sets
PETS = ("cat", "dog", "bird")


def layer_of(weight, bias=None, **facts):
    weight = np.asarray(weight, float)
    known = {"dtype": "float64", "model": "pets", "kind": "npy file", "source": "W.npy"} | facts
    return ImportedLayer(weight, bias if bias is None else np.asarray(bias, float), **known)


def app_of(weight, sets=None, *, bias=None, names=None, model="pets", **options):
    label_sets = None if sets is None else read_label_sets(sets, len(weight))
    return make_app(layer_of(weight, bias, model=model), label_names=names, label_sets=label_sets, **options)


def client_of(app, host="127.0.0.1:8000"):
    return TestClient(app, base_url=f"http://{host}", raise_server_exceptions=False)


def ask(client, path, **question):
    response = client.post(f"/api/{path}", json=question)
    assert response.status_code == 200, response.text
    return response.json()


@contextmanager
def served(app, http="auto") -> Iterator[str]:
    """Serve an app on a free port of this machine; the address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none", http=http))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(10)
