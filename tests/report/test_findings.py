"""The pages of vocabularies and indexes, drawn from documents alone."""

import re
from html import unescape

import numpy as np

from labelproof.auditing import audit_index
from labelproof.report import index_page, render_findings, write_findings
from labelproof.report.lines import Line, share_lines


def test_lines_rise_with_their_shares_and_leave_out_what_is_unknown():
    picture = share_lines(
        [4, 8, 16], [Line("top", (0.0, 0.5, 1.0)), Line("none", (None, None, None))], "Shares", "width"
    )
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', picture)]
    assert heights == sorted(heights, reverse=True)
    assert picture.count("<polyline") == 1
    assert "none" not in re.sub(r"class=\S+", "", picture)


def test_one_width_is_a_point_in_the_middle():
    assert share_lines([7], [Line("top", (1.0,))], "Shares", "width").count("<circle") == 1


def test_names_at_the_ends_of_lines_do_not_meet():
    picture = share_lines([4, 8], [Line(name, (1.0, 1.0)) for name in "abc"], "Shares", "width")
    heights = [float(y) for y in re.findall(r'class="name" x="[\d.]+" y="([\d.]+)"', picture)]
    assert np.diff(heights).min() >= 14


def test_the_page_of_an_index_loads_nothing_and_escapes_names(tmp_path):
    points = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    names = ["<i>", "b", "c", "d"]
    found = audit_index(points, [[0, 2]], queries=["<u>who</u>"], document_names=names, depths=[3], name="a&b.npy")
    page = render_findings(index_page(found.document))
    assert "default-src 'none'" in unescape(page)
    assert "<i>" not in page
    assert "<u>" not in page
    assert "a&amp;b.npy" in page
    assert not re.search(r"""(src|href)=["'](?!#)""", page)
    write_findings(tmp_path / "page.html", index_page(found.document))
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
