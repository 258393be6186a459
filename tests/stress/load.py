"""Many clients of one explorer at once, on this machine: all are answered, slow ones hold nobody up, memory is bounded.

The server is `labelproof explore` in a process of its own, on 127.0.0.1. Each client sends a bounded number of
requests over one connection; slow clients send a byte at a time, or half a request and no more.
"""

import asyncio
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from rows import Row

__all__ = ["campaign", "explorer"]

MOST_REQUESTS = 400  # of one client
MOST_GROWTH = 256 * 2**20  # bytes
N_LABELS, D = 200, 8
PATIENCE = 60.0  # seconds for one answer, on a machine that others use too
HALF_SENT_ENDS = 10.0  # seconds, as the server promises


@contextlib.contextmanager
def explorer() -> Iterator[tuple[int, int]]:
    """Start an explorer of a random layer; give its process and its port."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "W.npz"
        np.savez(path, weight=np.random.default_rng(0).normal(size=(N_LABELS, D)))
        command = [sys.executable, "-m", "labelproof", "explore", str(path), "--no-browser"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
        try:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
            if found is None:
                raise RuntimeError("the explorer did not start")
            yield process.pid, int(found[1])
        finally:
            process.kill()
            process.communicate()


def campaign(n_clients: int, seconds: float, n_slow: int) -> list[Row]:
    """Send requests for some time."""
    answers, slow = Row(f"explorer: requests of {n_clients} clients"), Row(f"explorer: {n_slow} half-sent requests")
    with explorer() as (process, port):
        before = _memory(process)
        with ThreadPoolExecutor(1) as aside:  # a browser of other tests may have left an event loop in this thread
            aside.submit(asyncio.run, _all(port, n_clients, seconds, n_slow, answers, slow)).result()
        peak = _memory(process)
    for row in (answers, slow):
        row.memory = peak
    answers.note = f"grew by {(peak - before) / 2**20:.0f} MB"
    if peak - before > MOST_GROWTH:
        answers.add(f"the server grew by {peak - before:,} bytes")
    return [answers, slow]


async def _all(port: int, n_clients: int, seconds: float, n_slow: int, answers: Row, slow: Row) -> None:
    end = time.monotonic() + seconds
    waiting = [asyncio.create_task(_half_sent(port, number, slow)) for number in range(n_slow)]
    await asyncio.gather(*(_client(port, number, end, answers) for number in range(n_clients)))
    await asyncio.gather(*waiting)


async def _client(port: int, number: int, end: float, row: Row) -> None:
    rng = np.random.default_rng(number)
    reader = writer = None
    for _ in range(MOST_REQUESTS):
        if time.monotonic() > end:
            break
        begin = time.monotonic()
        try:
            if writer is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(_request(port, rng))
            fault = await asyncio.wait_for(_answer(reader), PATIENCE)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, ValueError) as error:
            fault = f"client {number}: {type(error).__name__}: {error}"
            reader = writer = None
        row.add(fault, time.monotonic() - begin)
    if writer is not None:
        writer.close()


def _request(port: int, rng: np.random.Generator) -> bytes:
    way = rng.integers(4)
    if way == 0:
        return f"GET /api/labels?q=1 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    if way == 1:
        return f"GET /explorer.js HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    labels = sorted(rng.choice(N_LABELS, int(rng.integers(1, 6)), replace=False).tolist())
    return _head(port, body := json.dumps({"labels": labels}).encode()) + body


def _head(port: int, body: bytes) -> bytes:
    words = f"Host: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return f"POST /api/verdict HTTP/1.1\r\n{words}\r\n\r\n".encode()


async def _answer(reader: asyncio.StreamReader) -> str:
    """Read one answer; return what is wrong with it."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    body = await reader.readexactly(int(re.search(r"content-length: (\d+)", head)[1]))
    return "" if head.startswith("http/1.1 200") else f"{head.splitlines()[0]}: {body[:200].decode()}"


async def _half_sent(port: int, number: int, row: Row) -> None:
    """Send half a request, at once or byte by byte; the server must end it."""
    whole = _head(port, b" " * 100)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begin, fault = time.monotonic(), ""
    try:
        if number % 2:
            writer.write(whole)
        else:
            task = asyncio.create_task(_drip(writer, whole))
        answer = await asyncio.wait_for(reader.read(), HALF_SENT_ENDS + PATIENCE)
        fault = "" if not answer else f"half a request was answered: {answer[:80]!r}"
    except ConnectionError:
        pass  # it was ended
    except TimeoutError:
        fault = "half a request was never ended"
    if not number % 2:
        task.cancel()
    writer.close()
    row.add(fault, time.monotonic() - begin)


async def _drip(writer: asyncio.StreamWriter, data: bytes) -> None:
    with contextlib.suppress(ConnectionError):
        for place in range(len(data) - 1):
            writer.write(data[place : place + 1])
            await writer.drain()
            await asyncio.sleep(0.5)


def _memory(process: int) -> int:
    """Return the most bytes that a process has had in memory."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024
