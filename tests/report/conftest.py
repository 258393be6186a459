"""Audit documents for the tests of the report, made once."""

import pytest
from audit_documents import completed, small_document


@pytest.fixture(scope="session")
def small():
    return small_document()


@pytest.fixture(scope="session")
def full(small):
    return completed(small)
