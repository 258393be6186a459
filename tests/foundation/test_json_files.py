"""Every fault of a JSON file is one sentence."""

import pytest

from labelproof.foundation.json_files import parse_json, read_json

DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"{", r"expected JSON in a\.json \(Expecting property name"),
        (b"\xff", r"expected JSON in a\.json \('utf-8' codec can't decode byte 0xff"),
        (DEEP.encode(), r"expected JSON in a\.json \(nested too deeply\)"),
    ],
)
def test_a_file_that_is_no_json_is_named_with_the_fault(tmp_path, text, fault):
    (tmp_path / "a.json").write_bytes(text)
    with pytest.raises(ValueError, match=fault) as caught:
        read_json(tmp_path / "a.json")
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_over_the_limit_is_not_read(tmp_path):
    (tmp_path / "a.json").write_text("[1, 2]")
    with pytest.raises(ValueError, match=r"^expected at most 5 bytes in a\.json, got 6$"):
        read_json(tmp_path / "a.json", most_bytes=5)
    assert read_json(tmp_path / "a.json", most_bytes=6) == [1, 2]


def test_the_caller_may_name_the_file_and_what_was_expected(tmp_path):
    (tmp_path / "a.json").write_text("[")
    with pytest.raises(ValueError, match=r"^expected a rule in JSON \(Expecting value"):
        read_json(tmp_path / "a.json", what="a rule in JSON", where="")


def test_numbers_that_json_has_not_are_refused_where_they_matter():
    assert parse_json("[1e999]", finite=True) == [float("inf")]  # which callers check by themselves
    for constant in ("NaN", "Infinity", "-Infinity"):
        with pytest.raises(ValueError, match=f"^the number {constant}$"):
            parse_json(f"[{constant}]", finite=True)
        parse_json(f"[{constant}]")


def test_a_missing_file_stays_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "a.json")
