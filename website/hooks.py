"""What mkdocs does besides reading ``docs``: pages from elsewhere in the repository, and a reference of public names.

Pages are written so that they read well in the repository: a link leads to a file beside it. Here such links are turned
towards the site's own copy of the file; a link to code, which the site does not have, becomes the file's name.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from website.reference import reference_pages

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
LINKS = re.compile(r"\[([^\]]*)\]\(([^)]+)\)")
ALONE = {"index.md", "why.md", "choosing.md"}  # pages without others beside them
PICTURES = {".png", ".svg"}


def pages_from_elsewhere() -> dict[str, str]:
    """Return where in the site each file outside of ``docs`` has its page, by its path in the repository."""
    places = {f"{name}.md": f"project/{name}.md" for name in ("CONTRIBUTING", "CHANGELOG")}
    for path in sorted((ROOT / "benchmarks" / "results").glob("*")):
        if path.suffix == ".md" or path.suffix in PICTURES:
            places[f"benchmarks/results/{path.name}"] = f"performance/{path.name}"
    return places


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the folders of the navigation, leave out pages that are not there, and add new ones to the guide."""
    folders: dict[str, list[Any]] = {
        "performance/": _performance(),
        "reference/": list(reference_pages()),
        "results/": [{_heading(path): f"results/{path.name}"} for path in sorted(ROOT.glob("docs/results/*.md"))],
    }
    config.nav = [item for item in (_filled(item, folders) for item in config.nav or []) if item]
    guide = next(content for section in config.nav for title, content in section.items() if title == "Guide")
    guide += sorted({path.name for path in (ROOT / "docs").glob("*.md")} - set(_pages(config.nav)))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are written elsewhere, and the reference."""
    for source, place in pages_from_elsewhere().items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    for place, text in reference_pages().items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: object) -> str:
    """Turn links between files of the repository into links between pages of the site."""
    if page.file.src_uri in ALONE:
        page.meta["hide"] = ["navigation"]
    elif not re.search(r"^##+ ", markdown, re.MULTILINE):
        page.meta["hide"] = ["toc"]  # it would be empty, and wide tables need its place
    places = pages_from_elsewhere()
    sources = {place: source for source, place in places.items()}
    here = sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def turned(link: re.Match[str]) -> str:
        mark, text, target, anchor = link.groups()
        if re.match(r"[a-z]+:", target):
            return link.group(0)
        source = normpath(str(PurePosixPath(here).parent / target))
        place = places.get(source, source.removeprefix("docs/") if source.startswith("docs/") else None)
        if place is None or (files.get_file_from_path(place) is None and not place.endswith(".md")):
            return text
        return f"{mark}[{text}]({relpath(place, str(PurePosixPath(page.file.src_uri).parent))}{anchor or ''})"

    return LINK.sub(turned, markdown)


def _pages(nav: Any) -> Iterator[str]:
    """Yield the pages that a navigation lists, however deep."""
    if isinstance(nav, str):
        yield nav
    for part in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _pages(part)


def _performance() -> list[Any]:
    """Return the pages of measurements as docs/performance.md groups and calls them; others come last."""
    places = pages_from_elsewhere()
    rest = {place for place in places.values() if re.match("performance/.*md$", place)}
    groups: list[Any] = ["performance.md"]
    for topic, row in re.findall(r"^\| ([^|\n]+) \| (\[.*) \|$", _text_of("performance.md"), re.MULTILINE):
        links = {text: places.get(target.removeprefix("../"), target) for text, target in re.findall(LINKS, row)}
        groups.append({_upper(topic): [{_upper(text): place} for text, place in links.items()]})
        rest -= set(links.values())
    return [*groups, {"More": sorted(rest)}] if rest else groups


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _heading(path: Path) -> str:
    return re.findall(r"^# (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)[0]


def _text_of(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def _filled(item: Any, folders: dict[str, list[Any]]) -> Any:
    if isinstance(item, str):
        return item if (ROOT / "docs" / item).exists() or item.startswith("project/") else None
    ((title, content),) = item.items()
    if isinstance(content, list):
        return {title: [part for part in (_filled(part, folders) for part in content) if part]}
    if content in folders:
        return {title: folders[content]}
    return item if _filled(content, folders) else None
