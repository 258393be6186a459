"""The drawing of the architecture is true: it shows every room where the test of imports has it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "website").is_dir(), reason="the site is not in this distribution")


@pytest.fixture
def rooms(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from website import rooms

    return rooms


def test_the_stored_drawing_is_that_of_the_table(rooms):
    assert rooms.PICTURE.read_text(encoding="utf-8") == rooms.drawing(), "run python -m website.rooms"


def test_every_room_is_drawn_below_those_that_it_imports(rooms):
    heights = {name: int(y) for y, name in re.findall(r'class="name" x="\d+" y="(\d+)">(\w+)<', rooms.drawing())}
    for name, y in heights.items():
        place = ROOT / "src" / "labelproof" / name
        for path in place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]:
            for imported in re.findall(r"(?:from|import) labelproof\.(\w+)", path.read_text(encoding="utf-8")):
                assert imported == name or heights[imported] < y, f"{path} imports {imported}"


def test_the_trusted_room_stands_out(rooms):
    assert len(re.findall('<rect class="trusted" x="[^"]*" y="[^"]*" width="(?!22")', rooms.drawing())) == 1


def test_the_stored_drawings_of_the_bottleneck_are_those_of_the_library(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from website.drawings import PICTURES, drawings

    for name, picture in drawings().items():
        assert (PICTURES / name).read_text(encoding="utf-8") == picture, "run python -m website.drawings"
