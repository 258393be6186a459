"""Draw the rooms of the package and who may import whom, from the table that the test of all imports uses.

``python -m website.rooms`` writes docs/pictures/rooms.svg; a test compares that file with the table.
"""

import re
import runpy
from collections.abc import Sequence
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any

__all__ = ["PICTURE", "drawing"]

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "rooms.svg"
WIDTH, LEFT, GAP, HEIGHT = 960, 70, 8, 56
STYLE = """
text { font-family: system-ui, sans-serif; font-size: 12px; fill: #37474f }
.name { font-family: ui-monospace, monospace; font-size: 13px; font-weight: 600; fill: #1a237e }
.room { fill: #eef1fb; stroke: #9fa8da } .trusted { fill: #dcefe0; stroke: #2e7d32; stroke-width: 2 }
.torch { fill: #fdf1e3; stroke: #e0b27a } .arrow { stroke: #78909c; stroke-width: 1.5; fill: none }
"""


def drawing() -> str:
    """Return the picture: a row for each layer of the table; what imports nothing of ours is at the top."""
    table = runpy.run_path(str(ROOT / "tests" / "test_architecture.py"))
    layers = [sorted(layer) for layer in table["LAYERS"] if "__init__" not in layer]
    rows = "\n".join(_row(layer, 50 + i * (HEIGHT + GAP), table) for i, layer in enumerate(layers))
    bottom = 50 + len(layers) * (HEIGHT + GAP)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 44}" role="img">
<title>The rooms of labelproof, each of which may import only rooms in rows above its own</title>
<style>{STYLE}</style>
<defs><marker id="tip" markerWidth="9" markerHeight="8" refX="4" refY="4" orient="auto">
<path d="M0 0 L8 4 L0 8 z" fill="#78909c"/></marker></defs>
<rect width="{WIDTH}" height="{bottom + 44}" rx="8" fill="#ffffff"/>
<text x="{LEFT}" y="30">A room may import any room in a row above its own, and none beside or below it.</text>
<path class="arrow" marker-end="url(#tip)" d="M36 {bottom - GAP} V62"/>
<text transform="translate(26 {bottom // 2 + 50}) rotate(-90)">imports</text>
{rows}
{_legend(bottom + 10)}
</svg>
"""


def _row(layer: Sequence[str], top: int, table: dict[str, Any]) -> str:
    width = (WIDTH - LEFT - 20 - GAP * (len(layer) - 1)) // len(layer)
    boxes = []
    for i, name in enumerate(layer):
        left = LEFT + i * (width + GAP)
        kind = "trusted" if name == "proof" else "room" if name in table["WITHOUT_TORCH"] else "torch"
        boxes.append(f'<rect class="{kind}" x="{left}" y="{top}" width="{width}" height="{HEIGHT}" rx="6"/>')
        boxes.append(f'<text class="name" x="{left + 10}" y="{top + 19}">{name}</text>')
        for j, line in enumerate(_purpose(name, letters=(width - 20) // 7)):
            boxes.append(f'<text x="{left + 10}" y="{top + 35 + 14 * j}">{escape(line)}</text>')
    return "\n".join(boxes)


def _purpose(room: str, letters: int) -> list[str]:
    """Return the first sentence of the room's own docstring if it fits on two lines, else its first clause."""
    place = ROOT / "src" / "labelproof" / room
    code = (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text(encoding="utf-8")
    sentence = re.split(r"[.]|\n|See README", code.removeprefix('"""'))[0]
    lines = wrap(sentence, letters)
    return lines if len(lines) <= 2 else wrap(re.split("[:;,(]", sentence)[0], letters, max_lines=2, placeholder=" …")


def _legend(top: int) -> str:
    kinds = [("trusted", "decides what is proven"), ("room", "never imports torch"), ("torch", "may import torch")]
    boxes = []
    for i, (kind, meaning) in enumerate(kinds):
        left = LEFT + 220 * i
        boxes.append(f'<rect class="{kind}" x="{left}" y="{top}" width="22" height="16" rx="3"/>')
        boxes.append(f'<text x="{left + 30}" y="{top + 13}">{meaning}</text>')
    return "\n".join(boxes)


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")
