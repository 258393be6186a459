"""Half-sent requests end; whole ones, also several over one connection, are answered as ever."""

import re
import socket
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
import uvicorn
from small_explorers import TRIANGLE, app_of, served

from labelproof.explorer import server
from labelproof.explorer.patience import PatientProtocol

HEAD = b"POST /api/verdict HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: 15\r\n"
BODY = b'{"labels": [0]}'


class Hasty(PatientProtocol):
    seconds = 0.2


@pytest.fixture(scope="module")
def port():
    with served(app_of(TRIANGLE), http=Hasty) as url:
        yield urlsplit(url).port


def all_of(connection):
    """Read until the server ends the connection; a server that never does fails the test."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def one_of(connection):
    """Read one answer whose length its head tells, however many pieces it comes in."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536)
    head = answer.partition(b"\r\n\r\n")[0]
    length = int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1])
    while len(answer) < len(head) + 4 + length:
        answer += connection.recv(65536)
    return answer


def test_people_have_ten_seconds():
    assert PatientProtocol.seconds == 10


@pytest.mark.parametrize("sent", [b"", b"POST", HEAD, HEAD + b"\r\n", HEAD + b"\r\n" + BODY[:5]])
def test_a_request_that_is_sent_in_part_ends(port, sent):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(sent % port if b"%d" in sent else sent)
        assert all_of(connection) == b""


def drip(connection, data):
    """Send byte by byte until the server ends the connection; return how many went."""
    for sent, byte in enumerate(data):
        try:
            connection.sendall(bytes([byte]))
            connection.settimeout(0.02)
            if connection.recv(1) == b"":
                return sent
        except TimeoutError:
            connection.settimeout(30)
        except ConnectionError:
            return sent
    return len(data)


def test_a_request_that_drips_ends_too(port):
    data = HEAD % port * 20
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        assert drip(connection, data) < len(data)


def test_whole_requests_are_answered_one_after_the_other_over_one_connection(port):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        for last in (b"", b"Connection: close\r\n"):
            connection.sendall(HEAD % port + last + b"\r\n")
            connection.sendall(BODY)
            answer = all_of(connection) if last else one_of(connection)
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


def test_the_command_serves_so(monkeypatch):
    seen = {}
    monkeypatch.setattr(uvicorn, "Config", lambda _, **options: seen.update(options))
    monkeypatch.setattr(uvicorn, "Server", lambda _: SimpleNamespace(run=lambda **_: None))
    server._run(app_of(TRIANGLE), None)
    assert seen["http"] is PatientProtocol
