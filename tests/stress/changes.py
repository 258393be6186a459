"""Change files in ways that hurt readers: bytes anywhere, members of zip files behind sound checksums, JSON values."""

import bz2
import gzip
import io
import json
import lzma
import re
import zipfile

import numpy as np

TOKENS = [
    b'"',
    b"[",
    b"{",
    b"}",
    b"\n",
    b",",
    b":",
    b"-1",
    b"null",
    b"NaN",
    b"1e999",
    b"\x00",
    b"<",
    b"9" * 30,
    b"\xff",
]
VALUES = [None, True, -1, 0, 2**63, 1e308, float("nan"), "", "x" * 5000, [], {}, [[[[]]]], "../../etc/passwd", "\u202e"]
NUMBER = re.compile(rb"\d+")


def changed(content: bytes, rng: np.random.Generator) -> bytes:
    """Return content that was changed in one to four places, in whatever way its format allows."""
    for _ in range(int(rng.integers(1, 5))):
        content = _WAYS[int(rng.integers(len(_WAYS)))](content, rng)
    return content


def _bytes(content: bytes, rng: np.random.Generator) -> bytes:
    data = bytearray(content)
    place, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 40))
    way = rng.integers(5)
    if way == 0 and place < len(data):
        data[place] = rng.integers(256)
    elif way == 1:
        del data[place : place + length]
    elif way == 2:
        data[place:place] = data[place : place + length] * int(rng.integers(1, 20))
    elif way == 3:
        data[place:place] = TOKENS[rng.integers(len(TOKENS))]
    else:
        del data[place:]
    return bytes(data)


def _number(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace a number that is written out."""
    found = list(NUMBER.finditer(content[:100_000]))
    if not found:
        return _bytes(content, rng)
    one = found[rng.integers(len(found))]
    other = [b"-1", b"0", b"4294967296", b"9" * 25, b"1e400", b"nan"][rng.integers(6)]
    return content[: one.start()] + other + content[one.end() :]


def _member(content: bytes, rng: np.random.Generator) -> bytes:
    """Change a member of a zip file, and write the file anew, so that lengths and checksums are right."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {member.filename: archive.read(member) for member in archive.infolist()}
    except Exception:  # it is none, or none any more
        return _bytes(content, rng)
    names = sorted(members)
    name = names[rng.integers(len(names))] if names else "a"
    if rng.integers(4) == 0:
        members[names[rng.integers(len(names))] if names else "b"] = members.pop(name, b"")
    else:
        members[name] = (_bytes, _number, _document)[rng.integers(3)](members.get(name, b""), rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, data in members.items():
            archive.writestr(key, data)
    return stream.getvalue()


def _packed(content: bytes, rng: np.random.Generator) -> bytes:
    """Change what a compressed file holds, and compress it anew."""
    for module in (gzip, bz2, lzma):
        try:
            held = module.decompress(content)
        except Exception:  # noqa: S112 - it is of another kind, or damaged by now
            continue
        return module.compress((_bytes, _number, _document)[rng.integers(3)](held, rng))
    return _bytes(content, rng)


def _document(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace a value of a JSON document, or of one of its lines, by one of another kind."""
    lines = content.splitlines()
    k = int(rng.integers(len(lines))) if lines else 0
    for part in (content, lines[k] if lines else b""):
        start = part.find(b"{")
        try:
            document = json.loads(part[start:] if start >= 0 else part)
        except (ValueError, RecursionError):
            continue
        text = json.dumps(_with_other_value(document, rng)).encode()
        text = part[: max(start, 0)] + text
        return text if part is content else b"\n".join([*lines[:k], text, *lines[k + 1 :]])
    return _bytes(content, rng)


def _with_other_value(value: object, rng: np.random.Generator) -> object:
    if isinstance(value, dict) and value and rng.integers(4):
        key = sorted(value)[rng.integers(len(value))]
        if rng.integers(5) == 0:
            return {other: one for other, one in value.items() if other != key}
        return value | {key: _with_other_value(value[key], rng)}
    if isinstance(value, list) and value and rng.integers(4):
        k = int(rng.integers(len(value)))
        return [*value[:k], _with_other_value(value[k], rng), *value[k + 1 :]]
    return VALUES[rng.integers(len(VALUES))]


_WAYS = (_bytes, _number, _member, _packed, _document)
