"""What tests of several rooms share: a real browser."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

collect_ignore_glob = ["*/conftest.py"]  # as modules with doctests their names would clash


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's Chromium without a window, driven by Playwright."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        absent = "no Chromium on this machine (Debian: apt-get install chromium)"
        if os.environ.get("LABELPROOF_BROWSER") == "required":
            pytest.fail(absent)
        pytest.skip(absent)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
