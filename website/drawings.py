"""Draw the two pictures of docs/why.md: six of eight label sets, and the share of sets that a layer can predict.

``python -m website.drawings`` writes them; a test compares the files with what this module draws.
"""

import math
from pathlib import Path

from labelproof.pictures.arrangement import regions
from labelproof.theory.counting import log10_argmaxable_fraction

__all__ = ["PICTURES", "drawings"]

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
COLOURS = ("#dbe4ff", "#ffe8cc", "#d3f9d8", "#ffe3e3", "#e5dbff", "#fff3bf")
WEIGHT = ((1.0, 0.0), (-0.5, 0.866), (-0.5, -0.866))
NAMES = ("A", "B", "C")
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
TEXT = 'font-family="system-ui, sans-serif" fill="#37474f"'


def drawings() -> dict[str, str]:
    """Return the pictures by the names of their files."""
    return {"why-six-of-eight.svg": _six_of_eight(), "why-share.svg": _share()}


def _six_of_eight() -> str:
    def place(point: tuple[float, float]) -> tuple[float, float]:
        return round(160 + 112 * point[0], 1), round(160 - 112 * point[1], 1)

    shapes = []
    for region, colour in zip(regions(WEIGHT), COLOURS, strict=True):
        corners = " ".join(f"{x},{y}" for x, y in (place(tuple(corner)) for corner in region.corners))
        shapes.append(f'<polygon points="{corners}" fill="{colour}" stroke="#90a4ae"/>')
    for label, (a, b) in enumerate(WEIGHT):
        reach = 1.0 / max(abs(a), abs(b))
        (x1, y1), (x2, y2) = place((-b * reach, a * reach)), place((b * reach, -a * reach))
        shapes.append(f'<path d="M{x1} {y1} L{x2} {y2}" stroke="#1a237e" stroke-width="2"/>')
        along = (-b * reach * 1.12, a * reach * 1.12)
        (x0, y0), (x3, y3) = place(along), place((along[0] + 0.2 * a, along[1] + 0.2 * b))
        shapes.append(f'<path d="M{x0} {y0} L{x3} {y3}" stroke="#1a237e" stroke-width="1.5" marker-end="url(#tip)"/>')
        x4, y4 = place((along[0] + 0.38 * a, along[1] + 0.38 * b))
        shapes.append(f'<text x="{x4}" y="{y4 + 4}" {TEXT} font-size="12" text-anchor="middle">{NAMES[label]} on</text>')
    for region in regions(WEIGHT):
        angle = math.atan2(*reversed([float(value) for value in region.centroid]))
        x, y = place((0.68 * math.cos(angle), 0.68 * math.sin(angle)))
        name = "{" + ", ".join(NAMES[label] for label in region.labels) + "}"
        shapes.append(f'<text x="{x}" y="{y + 5}" {TEXT} font-size="15" font-weight="600" text-anchor="middle">{name}</text>')
    return _frame(
        620, 320, "Three lines make six regions", "\n".join(shapes) + _lost(), tip=True
    )


def _lost() -> str:
    lines = [
        (60, 17, "600", "Three labels, two features"),
        (92, 14, "400", "Each line belongs to a label, which is on"),
        (112, 14, "400", "on the side of its arrow."),
        (144, 14, "400", "Six regions: six label sets."),
        (164, 14, "400", "Two label sets have none:"),
    ]
    texts = [f'<text x="320" y="{y}" {TEXT} font-size="{size}" font-weight="{weight}">{t}</text>' for y, size, weight, t in lines]
    for i, name in enumerate(("{A, B, C}", "{ }")):
        x = 320 + 110 * i
        texts.append(f'<rect x="{x}" y="184" width="98" height="34" rx="6" fill="#ffebee" stroke="#c62828" stroke-dasharray="4 3"/>')
        texts.append(f'<text x="{x + 49}" y="206" {TEXT} font-size="15" font-weight="600" text-anchor="middle">{name}</text>')
    texts.append(f'<text x="320" y="248" {TEXT} font-size="14">No input gives them, however the</text>')
    texts.append(f'<text x="320" y="268" {TEXT} font-size="14">model is trained.</text>')
    return "\n".join(texts)


def _share() -> str:
    """Return the share of sets by d/n for three numbers of labels, between 1 and 10⁻⁵⁰⁰."""
    left, top, width, height, least = 100, 40, 490, 210, -500.0
    shapes = []
    for power in (0, -100, -200, -300, -400, -500):
        y = top + height * power / least
        label = "all sets" if power == 0 else "1 in 10" + str(-power).translate(SUPERSCRIPTS)
        shapes.append(f'<path d="M{left} {y} H{left + width}" stroke="#cfd8dc"/>')
        shapes.append(f'<text x="{left - 6}" y="{y + 4}" {TEXT} font-size="11" text-anchor="end">{label}</text>')
    for i in range(6):
        x = left + width * i / 5
        shapes.append(f'<text x="{x}" y="{top + height + 18}" {TEXT} font-size="11" text-anchor="middle">{i / 5:g}</text>')
    for n_labels, colour in ((100, "#2e7d32"), (1000, "#1a237e"), (10000, "#c62828")):
        points = []
        for i in range(1, 101):
            log = log10_argmaxable_fraction(n_labels, max(1, n_labels * i // 100))
            if log >= least:
                points.append(f"{left + width * i / 100:.1f},{top + height * log / least:.1f}")
        shapes.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
    for i, (name, colour) in enumerate((("100 labels", "#2e7d32"), ("1,000 labels", "#1a237e"), ("10,000 labels", "#c62828"))):
        y = top + 120 + 22 * i
        shapes.append(f'<path d="M{left + 330} {y} h24" stroke="{colour}" stroke-width="2.5"/>')
        shapes.append(f'<text x="{left + 362}" y="{y + 4}" {TEXT} font-size="13">{name}</text>')
    shapes.append(f'<text x="{left}" y="22" {TEXT} font-size="13">share of label sets that can be predicted</text>')
    shapes.append(f'<text x="{left + width}" y="{top + height + 36}" {TEXT} font-size="13" text-anchor="end">features for each label, d / n</text>')
    return _frame(620, 300, "The share of label sets that can be predicted", "\n".join(shapes))


def _frame(width: int, height: int, title: str, content: str, tip: bool = False) -> str:
    marker = (
        '<defs><marker id="tip" markerWidth="9" markerHeight="8" refX="5" refY="4" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#1a237e"/></marker></defs>\n'
        if tip
        else ""
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n<title>{title}</title>\n{marker}'
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>\n{content}\n</svg>\n'
    )


if __name__ == "__main__":
    for name, picture in drawings().items():
        (PICTURES / name).write_text(picture, encoding="utf-8")
