"""Audit documents for the tests of the report, made once."""

from contextlib import contextmanager

import pytest
from audit_documents import completed, small_document, stretched, untested


@pytest.fixture(scope="session")
def small():
    return small_document()


@pytest.fixture(scope="session")
def full(small):
    return completed(small)


@pytest.fixture(scope="session")
def wide(small):
    return stretched(small)


@pytest.fixture(scope="session")
def not_tested(small):
    return untested(small)


@pytest.fixture
def visit(chromium, folder):
    """Open a report in a window of its own; what goes wrong there fails the test."""

    @contextmanager
    def visit(name, **options):
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        page, faults = context.new_page(), []
        page.on(
            "console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: (faults.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: None if request.url.startswith("file:") else faults.append(request.url))
        page.goto((folder / name).as_uri())
        try:
            yield page
            assert faults == []
        finally:
            context.close()

    return visit
