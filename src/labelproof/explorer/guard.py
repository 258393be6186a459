"""What stands between the web and the explorer: only its own page, on the address it was opened under, gets in.

A page on another site can send requests to a server on this machine, and by pointing its own name to 127.0.0.1 even
read the answers. Both are told apart by the headers Host, Origin and Sec-Fetch-Site, which a browser sets itself.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from ipaddress import ip_address
from typing import Any

__all__ = ["HEADERS", "Guard", "is_loopback"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to a server at this address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


class Guard:
    """Refuse foreign hosts and origins and large bodies, and add the headers that keep a browser strict.

    Parameters
    ----------
    app
        What is guarded.
    host
        The address that the server was told to bind to. If that is all addresses of the machine, a request may name
        any of them by its numbers, which nobody else's name resolves to.
    most_bytes
        Of a request's body.
    """

    def __init__(self, app: App, host: str, most_bytes: int) -> None:
        self._app, self._most_bytes = app, most_bytes
        self._hosts = LOOPBACK | {host.lower()}
        self._any_address = _is_address(host) and ip_address(host).is_unspecified

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        fault = self._fault(scope)
        if fault is not None:
            await _refuse(send, *fault)
            return
        body = await _read(receive, self._most_bytes)
        if body is None:
            await _refuse(send, 413, f"a request must have at most {self._most_bytes} bytes, got more")
            return
        await self._app(scope, _once(body, receive), _with_headers(send))

    def _fault(self, scope: Mapping[str, Any]) -> tuple[int, str] | None:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return 421, "the header Host must be the address of this explorer, got another"
        if any(origin != f"{scope['scheme']}://{hosts[0]}" for origin in headers.get("origin", [])):
            return 403, "the header Origin must be this page's, got another"
        own = {"same-origin", "none"}
        if scope["path"].startswith("/api/") and not set(headers.get("sec-fetch-site", [])) <= own:
            return 403, "only the explorer's own page may ask, got a request of another site"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "the method must be GET or POST, got another"
        length = headers.get("content-length", ["0"])[0]
        if not length.isdecimal() or int(length[:12]) > self._most_bytes:
            return 413, f"a request must have at most {self._most_bytes} bytes, got more"
        return None

    def _is_own(self, host: str) -> bool:
        name, port = _without_port(host.lower())
        if port is None or name is None:
            return False
        return name in self._hosts or (self._any_address and _is_address(name))


def _without_port(host: str) -> tuple[str | None, str | None]:
    """Split a Host header; None for what is no host, or no port."""
    name, _, port = host.rpartition(":") if ":" in host.rpartition("]")[2] else (host, "", "0")
    if name.startswith("["):
        name = name[1:-1] if name.endswith("]") else ""
    return name or None, port if port.isdecimal() else None


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


async def _read(receive: Receive, most_bytes: int) -> bytes | None:
    """Read the whole body, or return None once it is too long."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > most_bytes:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return body


def _once(body: bytes, receive: Receive) -> Receive:
    """Hand on a body that has been read, and then what else comes."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def hand_on() -> Message:
        return waiting.pop() if waiting else await receive()

    return hand_on


def _with_headers(send: Send) -> Send:
    async def send_on(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message.get("headers", [])}
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message.get("headers", []), *(pair for pair in own if pair[0] not in given)]
        await send(message)

    return send_on


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    send = _with_headers(send)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
