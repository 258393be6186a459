"""Draw the two pictures of docs/why.md: six of eight label sets, and the share of sets that a layer can predict.

``python -m website.drawings`` writes them; a test compares the files with what this module draws.
"""

import math
from pathlib import Path

from labelproof.pictures.arrangement import regions
from labelproof.theory.counting import log10_argmaxable_fraction

__all__ = ["PICTURES", "drawings"]

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
INK, LINE, RED = "#37474f", "#1a237e", "#c62828"
REGIONS = ("#dbe4ff", "#ffe8cc", "#d3f9d8", "#ffe3e3", "#e5dbff", "#fff3bf")
WEIGHT = ((1.0, 0.0), (-0.5, 0.866), (-0.5, -0.866))
NAMES = ("A", "B", "C")
CURVES = ((100, "#2e7d32"), (1000, LINE), (10000, RED))
LEAST = -500  # the smallest share that is drawn, as a power of ten
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def drawings() -> dict[str, str]:
    """Return the pictures by the names of their files."""
    return {
        "why-six-of-eight.svg": _frame(320, "Three lines make six regions", [*_lines_and_regions(), *_legend()]),
        "why-share.svg": _frame(300, "The share of label sets that can be predicted", _share()),
    }


def _lines_and_regions() -> list[str]:
    found = regions(WEIGHT)
    shapes = []
    for region, colour in zip(found, REGIONS, strict=True):
        corners = " ".join(f"{x},{y}" for x, y in (_place(*corner) for corner in region.corners))
        shapes.append(f'<polygon points="{corners}" fill="{colour}" stroke="#90a4ae"/>')
    for name, (a, b) in zip(NAMES, WEIGHT, strict=True):
        reach = 1.0 / max(abs(a), abs(b))
        x, y = -b * reach, a * reach  # where the line leaves the square
        shapes.append(_path(_place(x, y), _place(-x, -y), 2))
        outside = -1.12 if x > 0 else 1.12  # beyond the left end, or the upper one
        x, y = outside * x, outside * y
        shapes.append(_path(_place(x, y), _place(x + 0.2 * a, y + 0.2 * b), 1.5, ' marker-end="url(#tip)"'))
        shapes.append(_text(*_place(x + 0.38 * a, y + 0.38 * b), f"{name} on", 12, anchor="middle"))
    for region in found:
        angle = math.atan2(region.centroid[1], region.centroid[0])
        name = "{" + ", ".join(NAMES[label] for label in region.labels) + "}"
        place = _place(0.68 * math.cos(angle), 0.68 * math.sin(angle))
        shapes.append(_text(*place, name, 15, anchor="middle", weight=600))
    return shapes


def _legend() -> list[str]:
    shapes = [
        _text(340, 55, "Three labels, two features", 17, weight=600),
        _text(340, 88, "Each line belongs to a label, which is", 14),
        _text(340, 108, "on where its arrow points.", 14),
        _text(340, 140, "Six regions: six label sets.", 14),
        _text(340, 160, "Two label sets have none:", 14),
        _text(340, 244, "No input gives them, however the", 14),
        _text(340, 264, "model is trained.", 14),
    ]
    for x, name in ((340, "{A, B, C}"), (450, "{ }")):
        box = f'x="{x}" y="178" width="98" height="34" rx="6" fill="#ffebee"'
        shapes.append(f'<rect {box} stroke="{RED}" stroke-dasharray="4 3"/>')
        shapes.append(_text(x + 49, 195, name, 15, anchor="middle", weight=600))
    return shapes


def _share() -> list[str]:
    """Return the share of sets by d/n for three numbers of labels."""
    left, top, width, height = 100, 40, 490, 210
    shapes = [_text(left, 18, "share of label sets that can be predicted", 13)]
    for power in range(0, LEAST - 1, -100):
        y = top + height * power / LEAST
        name = "all sets" if power == 0 else "1 in 10" + str(-power).translate(SUPERSCRIPTS)
        shapes.append(f'<path d="M{left} {y} H{left + width}" stroke="#cfd8dc"/>')
        shapes.append(_text(left - 6, y, name, 11, anchor="end"))
    shapes += [_text(left + width * i / 5, top + height + 14, f"{i / 5:g}", 11, anchor="middle") for i in range(6)]
    shapes.append(_text(left + width, top + height + 32, "features for each label, d / n", 13, anchor="end"))
    for i, (n_labels, colour) in enumerate(CURVES):
        points = []
        for percent in range(1, 101):
            power = log10_argmaxable_fraction(n_labels, n_labels * percent // 100)
            if power >= LEAST:
                points.append(f"{left + width * percent / 100:.1f},{top + height * power / LEAST:.1f}")
        shapes.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        y = top + 120 + 22 * i
        shapes.append(f'<path d="M{left + 330} {y} h24" stroke="{colour}" stroke-width="2.5"/>')
        shapes.append(_text(left + 362, y, f"{n_labels:,} labels", 13))
    return shapes


def _place(x: float, y: float) -> tuple[float, float]:
    """Return where on the picture a point of the square of features is."""
    return round(178 + 112 * x, 1), round(160 - 112 * y, 1)


def _path(start: tuple[float, float], end: tuple[float, float], width: float, more: str = "") -> str:
    ends = f"M{start[0]} {start[1]} L{end[0]} {end[1]}"
    return f'<path d="{ends}" stroke="{LINE}" stroke-width="{width}"{more}/>'


def _text(x: float, y: float, words: str, size: int, *, anchor: str = "start", weight: int = 400) -> str:
    style = f'font-size="{size}" font-weight="{weight}" text-anchor="{anchor}"'
    return f'<text x="{x}" y="{y + size / 3:.1f}" {style}>{words}</text>'


def _frame(height: int, title: str, shapes: list[str]) -> str:
    content = "\n".join(shapes)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 {height}" role="img">
<title>{title}</title>
<defs><marker id="tip" markerWidth="9" markerHeight="8" refX="5" refY="4" orient="auto">
<path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>
<rect width="620" height="{height}" rx="8" fill="#ffffff"/>
<g font-family="system-ui, sans-serif" fill="{INK}">
{content}
</g>
</svg>
"""


if __name__ == "__main__":
    for name, picture in drawings().items():
        (PICTURES / name).write_text(picture, encoding="utf-8")
