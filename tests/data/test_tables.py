"""Tables: CSV, TSV, JSONL, Parquet, Hugging Face objects and folders of images, and what is wrong with them."""

import gzip
import json
import lzma
import tracemalloc

import numpy as np
import pytest

from labelproof.data import Limits, iter_examples, load_dataset
from labelproof.data.loading import ENDINGS
from labelproof.data.part_files import DATA_FILES
from labelproof.data.textfile import read_lines
from labelproof.errors import DataFormatError

SETS = [("bird",), ("bird", "cat"), ()]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_a_csv_file_with_labels_in_one_string(tmp_path):
    path = write(tmp_path / "a.csv", 'text,labels\n"a, robin",bird\n"two\nlines",bird;cat\nc,\n')
    data = load_dataset(path)
    assert data.texts == ("a, robin", "two\nlines", "c")
    assert data.label_sets() == SETS


@pytest.mark.parametrize("cell", ["bird|cat", "bird; cat", '"[""bird"", ""cat""]"', "\"['bird', 'cat']\""])
def test_usual_ways_to_write_several_labels(tmp_path, cell):
    assert load_dataset(write(tmp_path / "a.csv", f"text,labels\na,{cell}\n")).label_sets() == [("bird", "cat")]


def test_a_list_in_json_is_read_as_json(tmp_path):
    cell = json.dumps(["a/b", "\U0001f600"]).replace("/", "\\/").replace('"', '""')
    assert load_dataset(write(tmp_path / "a.csv", f'text,labels\na,"{cell}"\n')).label_names == ("a/b", "\U0001f600")


def test_two_strings_without_a_comma_are_not_one_label(tmp_path):
    path = write(tmp_path / "a.csv", "text,labels\na,['bird' 'cat']\n")  # as pandas writes an array of numpy
    with pytest.raises(DataFormatError, match=r"line 2: expected commas between labels, got \"\['bird' 'cat'\]\""):
        load_dataset(path)


def test_an_empty_separator_is_refused(tmp_path):
    with pytest.raises(ValueError, match="separator must be what stands between labels, got an empty string"):
        load_dataset(write(tmp_path / "a.csv", "text,labels\na,b\n"), separator="")


def test_empty_lines_are_no_rows(tmp_path):
    assert load_dataset(write(tmp_path / "a.csv", "\ntext,labels\n\na,b\n\n")).texts == ("a",)


def test_commas_belong_to_names_unless_they_separate(tmp_path):
    path = write(tmp_path / "a.csv", 'text,labels\na,"Lungs, left"\n')
    assert load_dataset(path).label_names == ("Lungs, left",)
    assert load_dataset(path, separator=",").label_names == ("Lungs", "left")


def test_labels_in_columns_of_their_own(tmp_path):
    path = write(tmp_path / "a.csv", "comment,toxic,rude\na,1,0\nb,1,1\nc,0,0\n")
    data = load_dataset(path, text="comment", labels=["toxic", "rude"])
    assert data.label_names == ("toxic", "rude")  # in the order in which they were named
    assert data.label_sets() == [("toxic",), ("toxic", "rude"), ()]
    wrong = write(tmp_path / "b.csv", "comment,toxic,rude\na,1,0\nb,2,1\n")
    with pytest.raises(DataFormatError, match=r"b\.csv, line 3: expected 0 or 1 in the label column 'toxic', got '2'"):
        load_dataset(wrong, text="comment", labels=["toxic", "rude"])


def test_quotes_are_plain_characters_in_a_tsv_file(tmp_path):
    path = write(tmp_path / "a.tsv", 'text\tlabels\n"a\tbird\n')
    assert load_dataset(path).texts == ('"a',)


def test_columns_of_numbers_are_features(tmp_path):
    path = write(tmp_path / "a.csv", "x,y,labels,split\n1,2.5,a,train\n,3,b,test\n")
    data = load_dataset(path)
    np.testing.assert_array_equal(data.features, np.array([[1, 2.5], [np.nan, 3]], np.float32))
    assert data.parts == ("train", "test")
    assert data.feature_names == ("x", "y")
    assert load_dataset(path, features=["y"]).features.tolist() == [[2.5], [3]]


def test_columns_in_another_order_are_not_the_same_features(tmp_path):
    train, test = write(tmp_path / "a.csv", "x,y,labels\n1,2,a\n"), write(tmp_path / "b.csv", "y,x,labels\n2,1,a\n")
    with pytest.raises(ValueError, match="parts must have the same features in the same order, got 'x' and 'y'"):
        load_dataset({"train": train, "test": test})
    joined = load_dataset({"train": train, "test": test}, features=["x", "y"])
    assert joined.features.tolist() == [[1, 2], [1, 2]]
    assert joined.feature_names == ("x", "y")


def test_several_texts_are_joined(tmp_path):
    path = write(tmp_path / "a.csv", "title,abstract,label,year\nT,A,x,1999\n")
    data = load_dataset(path, text=["title", "abstract"], time="year")
    assert data.texts == ("T\n\nA",)
    assert data.times.tolist() == ["1999"]


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.xz"])
def test_json_lines_plain_and_compressed(tmp_path, ending):
    rows = [{"text": "a", "labels": ["bird"]}, {"text": "b", "labels": ["cat", "bird"]}, {"text": "c", "labels": []}]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path = tmp_path / f"a.{ending}"
    path.write_bytes({"jsonl": bytes, "jsonl.gz": gzip.compress, "jsonl.xz": lzma.compress}[ending](content))
    assert load_dataset(path).label_sets() == SETS
    assert [example.text for example in iter_examples(path)] == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.json"])
def test_a_stream_takes_the_memory_of_a_few_lines(tmp_path, name):
    filling, n = "x" * 1000, 6000
    head, row, between, end = {
        "a.jsonl": ("", f'{{"text": "{filling}", "labels": ["a"]}}\n', "", ""),
        "a.csv": ("text,labels\n", f"{filling},a\n", "", ""),
        "a.json": ("[", f'{{"text": "{filling}", "labels": ["a"]}}', ",\n", "]"),
    }[name]
    path = write(tmp_path / name, head + between.join([row] * n) + end)
    tracemalloc.start()
    try:
        assert sum(1 for _ in iter_examples(path)) == n
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < path.stat().st_size / 1.3


def test_empty_lines_and_single_labels_in_json_lines(tmp_path):
    path = write(tmp_path / "a.jsonl", '\n{"text": "a", "label": 3}\n\n{"text": "b", "label": null}\n\n')
    assert load_dataset(path).label_sets() == [("3",), ()]


def test_one_json_list(tmp_path):
    rows = [{"text": "a", "labels": ["bird"]}, {"text": "b", "labels": ["cat", "bird"]}, {"text": "c", "labels": []}]
    assert load_dataset(write(tmp_path / "a.json", json.dumps(rows, indent=1))).label_sets() == SETS
    assert load_dataset(write(tmp_path / "b.json", json.dumps(rows[0]))).label_sets() == SETS[:1]
    assert load_dataset(write(tmp_path / "b.json", "\n " + json.dumps(rows))).label_sets() == SETS
    one_line = write(tmp_path / "b.json", json.dumps(rows * 20))
    assert len(load_dataset(one_line, limits=Limits(line_bytes=200))) == 60  # no record is so long
    with pytest.raises(DataFormatError, match=r"a\.json, line 2: expected the end of the file, got \["):
        load_dataset(write(tmp_path / "a.json", json.dumps(rows) + "\n" + json.dumps(rows)))
    with pytest.raises(DataFormatError, match=r"a\.json, element 2: expected a JSON object, got int"):
        load_dataset(write(tmp_path / "a.json", json.dumps([rows[0], 7])))


def test_features_in_json_are_lists_or_sparse(tmp_path):
    dense = write(tmp_path / "a.jsonl", '{"features": [1, null], "labels": [3]}\n')
    assert load_dataset(dense).features.tolist()[0][0] == 1
    sparse = write(tmp_path / "b.jsonl", '{"features": {"indices": [2], "values": [5]}, "labels": [3]}\n')
    data = load_dataset(sparse)
    assert data.features.toarray().tolist() == [[0, 0, 5]]
    assert data.label_names == ("3",)


def test_a_parquet_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"text": ["a", "b", "c"], "labels": [["bird"], ["bird", "cat"], None]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert load_dataset(tmp_path / "a.parquet").label_sets() == SETS
    for column, message in (("text", "expected text in column 'text'"), ("labels", "expected a list of labels")):
        raw = table.set_column(table.column_names.index(column), column, [[b"ab", b"", b""]])
        parquet.write_table(raw, tmp_path / "b.parquet")
        with pytest.raises(DataFormatError, match=rf"b\.parquet, row 1: {message}, got b'ab'"):
            load_dataset(tmp_path / "b.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(DataFormatError, match=r"b\.parquet: damaged, or not a Parquet file"):
        load_dataset(tmp_path / "b.parquet")


class ClassLabel:
    names = ("bird", "cat")


class ListOf:
    feature = ClassLabel()


class FakeHuggingFace:
    """The part of a Hugging Face data set that is used."""

    def __init__(self, rows, features):
        self.rows, self.features, self.column_names = rows, features, list(features)

    def __iter__(self):
        return iter(self.rows)


def test_a_hugging_face_data_set_with_named_classes():
    rows = [{"text": "a", "labels": [0]}, {"text": "b", "labels": [0, 1]}, {"text": "c", "labels": []}]
    source = FakeHuggingFace(rows, {"text": None, "labels": ListOf()})
    assert load_dataset(source).label_sets() == SETS
    assert [example.labels for example in iter_examples(source)] == SETS
    unlabelled = FakeHuggingFace([{"text": "a", "label": -1}], {"text": None, "label": ClassLabel()})
    assert load_dataset(unlabelled).label_sets() == [()]
    indicators = FakeHuggingFace([{"text": "a", "labels": [0, 1, 0, 0]}], {"text": None, "labels": ListOf()})
    with pytest.raises(DataFormatError, match="row 0: expected the numbers of the labels, got a row of 0 and 1"):
        load_dataset(indicators)
    beyond = FakeHuggingFace([{"text": "a", "label": 2}], {"text": None, "label": ClassLabel()})
    with pytest.raises(DataFormatError, match="row 0: expected classes below 2, got 2"):
        load_dataset(beyond)
    single = FakeHuggingFace([{"text": "a", "label": 1}], {"text": None, "label": ClassLabel()})
    assert load_dataset(single).label_names == load_dataset(single, labels="label").label_names == ("bird", "cat")
    assert load_dataset(single, labels=["label"]).label_names == ("bird", "cat")
    assert load_dataset({"train": source, "test": single}).parts == ("train", "test")


def test_a_folder_of_images(tmp_path):
    (tmp_path / "a.png").touch()
    write(tmp_path / "labels.csv", "image,labels\na.png,bird;cat\n")
    data = load_dataset(tmp_path)
    assert data.image_paths == (str(tmp_path / "a.png"),)
    assert data.label_sets() == [("bird", "cat")]
    write(tmp_path / "labels.csv", "image,labels\na.png,bird\nb.png,cat\n")
    with pytest.raises(DataFormatError, match=r"labels\.csv, example 2: expected the image 'b\.png'"):
        load_dataset(tmp_path)
    write(tmp_path / "labels.csv", "text,labels\na.png,bird\n")
    with pytest.raises(DataFormatError, match="expected a column 'image'"):
        load_dataset(tmp_path)


def test_a_column_beside_the_text_is_no_image_by_chance(tmp_path):
    row = {"text": "a", "path": ["b", "c"], "labels": ["bird"]}
    assert load_dataset(write(tmp_path / "a.jsonl", json.dumps(row))).image_paths is None
    assert load_dataset(write(tmp_path / "a.jsonl", json.dumps({**row, "image_path": "d"}))).image_paths == ("d",)


def test_what_is_missing_in_a_column_of_text_is_empty(tmp_path):
    assert load_dataset(write(tmp_path / "a.jsonl", '{"text": NaN, "labels": ["b"], "time": null}')).texts == ("",)


def test_a_folder_without_a_table_of_images(tmp_path):
    with pytest.raises(DataFormatError, match=r"expected a file labels\.csv or labels\.tsv"):
        load_dataset(tmp_path, format="images")


def test_a_mapping_names_the_parts(tmp_path):
    train = write(tmp_path / "a.csv", "text,labels\na,bird\n")
    test = write(tmp_path / "b.csv", "text,labels\nb,cat\n")
    data = load_dataset({"train": train, "test": test})
    assert data.split.tolist() == ["train", "test"]
    assert data.label_names == ("bird", "cat")


def test_files_of_a_folder_are_parts_by_their_names(tmp_path):
    for name, label in (("x-train.csv", "bird"), ("x-dev.csv", "cat"), ("x_test.csv", "dog")):
        write(tmp_path / name, f"text,labels\na,{label}\n")
    write(tmp_path / "README.txt", "about these files")
    data = load_dataset(tmp_path)
    assert data.split.tolist() == ["train", "valid", "test"]
    write(tmp_path / "y-train.csv", "text,labels\na,b\n")
    with pytest.raises(DataFormatError, match=r"one file for each part, got x-train\.csv and y-train\.csv"):
        load_dataset(tmp_path)


def test_every_ending_that_is_read_is_found_in_a_folder(tmp_path):
    write(tmp_path / "train.ndjson", '{"text": "a", "labels": ["dog"]}')
    assert load_dataset(tmp_path).parts == ("train",)
    assert set(ENDINGS) <= set(DATA_FILES)


def test_a_vocabulary_is_given_and_unknown_labels_are_a_choice(tmp_path):
    path = write(tmp_path / "a.csv", "text,labels\na,bird\nb,fish\n")
    with pytest.raises(ValueError, match="got 'fish' in example 1"):
        load_dataset(path, label_names=["cat", "bird"])
    data = load_dataset(path, label_names=["cat", "bird"], unknown="drop")
    assert (data.label_names, dict(data.dropped)) == (("cat", "bird"), {"fish": 1})


def test_labels_by_number_get_names(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"text": "a", "labels": [1]}\n')
    assert load_dataset(path, index_names=["bird", "cat"]).label_names == ("cat",)
    with pytest.raises(ValueError, match="1 names and the label '1'"):
        load_dataset(path, index_names=["bird"])


# What is wrong is said in one sentence with file and line

ROW = '{"text": "a", "labels": ["bird"]}\n'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "text,tags\na,b\n", "a.csv: expected a column 'labels', or another named by labels=, got text, tags"),
        ("a.csv", '"te\nxt",tags\na,b\n', "or another named by labels=, got te xt, tags"),
        ("a.csv", "labels\nb\n", "a.csv: expected a column 'text', or others named by text= or features=, got labels"),
        ("a.csv", "", "a.csv: expected examples, got an empty file"),
        ("a.csv", "text,labels\na,b,c\n", "a.csv, line 2: expected 2 fields, got 3"),
        ("a.csv", "\ntext,text\n", "a.csv, line 2: expected different column names, got 'text' twice"),
        ("a.csv", 'text,labels\n"a,b\n', "a.csv, line 2: unexpected end of data"),
        ("a.csv", "x,labels\nred,b\n", "a.csv, line 2: expected a number in column 'x', got 'red'"),
        ("a.csv", 'text,labels\na,"[1, ]]"\n', "a.csv, line 2: expected a list of labels, got '[1, ]]'"),
        ("a.jsonl", "", "a.jsonl: expected examples, got an empty file"),
        ("a.jsonl", ROW + "{", "a.jsonl, line 2: expected a JSON object (Expecting property name"),
        ("a.jsonl", ROW + "[1]", "a.jsonl, line 2: expected a JSON object, got list"),
        ("a.jsonl", ROW + '{"text": "b"}', "a.jsonl, line 2: expected a column 'labels', got text"),
        (
            "a.jsonl",
            ROW + '{"text": "b", "labels": [], "split": "test"}',
            "line 2: expected a column 'split' in all rows",
        ),
        ("a.jsonl", ROW + '{"text": "b", "labels": [1]}', "line 2: expected labels of one type, which is str"),
        ("a.jsonl", '{"text": "b", "labels": ["a", 1]}', "line 1: expected labels of one type, got ['a', 1]"),
        ("a.jsonl", '{"text": "b", "labels": [0.5]}', "line 1: expected labels as names or whole numbers, got 0.5"),
        ("a.jsonl", '{"text": "b", "labels": [true]}', "line 1: expected labels as names or whole numbers, got True"),
        (
            "a.jsonl",
            '{"text": "b", "labels": [0, 1, 1, 0]}',
            "line 1: expected the numbers of the labels, got a row of",
        ),
        ("a.jsonl", '{"text": "b", "labels": {"a": 1}}', "line 1: expected a list of labels, got {'a': 1}"),
        ("a.jsonl", '{"text": "b", "labels": [" "]}', "line 1: expected label names, got an empty one in [' ']"),
        ("a.jsonl", '{"text": ["b"], "labels": []}', "line 1: expected text in column 'text', got ['b']"),
        ("a.jsonl", '{"features": {"indices": [1]}, "labels": []}', "line 1: expected 'indices' and 'values'"),
        (
            "a.jsonl",
            '{"features": {"indices": [1, 1], "values": [1, 2]}, "labels": []}',
            "expected different whole numb",
        ),
        ("a.jsonl", '{"features": [1e999], "labels": []}', "line 1: expected features within ±3.4e38, got inf"),
        ("a.jsonl", ROW + "[" * 100000, "a.jsonl, line 2: expected a JSON object"),
        ("a.unknown", "x", "a.unknown: expected a file name that shows its format"),
        ("a.txt", "hello\n", "a.txt: expected a file name that shows its format"),
    ],
)
def test_bad_tables_are_refused(tmp_path, name, content, message):
    with pytest.raises(DataFormatError) as caught:
        load_dataset(write(tmp_path / name, content))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_column_that_was_asked_for_is_missing(tmp_path):
    path = write(tmp_path / "a.csv", "text,labels\na,b\n")
    with pytest.raises(DataFormatError, match=r"a\.csv: expected a column 'tags', got text, labels"):
        load_dataset(path, labels="tags")


def test_text_that_is_not_utf8_is_refused_with_its_line(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"text,labels\nok,a\ncaf\xe9,b\n")
    with pytest.raises(DataFormatError, match=r"a\.csv, line 3: expected text in UTF-8, got byte 0xe9"):
        load_dataset(tmp_path / "a.csv")


def test_a_mark_at_the_beginning_is_no_part_of_the_first_name(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbftext,labels\r\na,b\r\n")
    assert load_dataset(tmp_path / "a.csv").texts == ("a",)
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbftext,lab\xe9ls\r\na,b\r\n")
    with pytest.raises(DataFormatError, match=r"line 1: expected text in UTF-8, got byte 0xe9"):
        load_dataset(tmp_path / "a.csv")


@pytest.mark.parametrize("size", [0, 1, 2, 3, 6])
def test_lines_are_the_same_however_they_are_cut(tmp_path, monkeypatch, size):
    (tmp_path / "a.txt").write_bytes(b"a\r\n\nlonger line\n\nlast" + b"\n" * (size % 2))
    monkeypatch.setattr("labelproof.data.textfile.CHUNK", size or 1 << 18)
    assert [line for _, line in read_lines(tmp_path / "a.txt")] == ["a", "", "longer line", "", "last"]


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_a_compressed_file_cut_short_is_refused(tmp_path, ending, compress):
    rng = np.random.default_rng(0)
    rows = "".join(json.dumps({"text": str(rng.random()), "labels": ["a"]}) + "\n" for _ in range(5000))
    packed = compress(rows.encode())
    (tmp_path / f"a.jsonl.{ending}").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataFormatError, match=r"a\.jsonl\.\w+, line \d+: expected a complete compressed file"):
        load_dataset(tmp_path / f"a.jsonl.{ending}")
    packed = compress(json.dumps([{"text": str(rng.random()), "labels": ["a"]}] * 5000).encode())
    (tmp_path / f"a.json.{ending}").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataFormatError, match=r"a\.json\.\w+: expected a complete compressed file, got one cut short"):
        load_dataset(tmp_path / f"a.json.{ending}")
    (tmp_path / f"b.jsonl.{ending}").write_bytes(b"plain text")
    with pytest.raises(DataFormatError, match=rf"b\.jsonl\.{ending}, line 1: expected \.{ending} data"):
        load_dataset(tmp_path / f"b.jsonl.{ending}")


@pytest.mark.parametrize("chunk", [100, 1 << 18])
def test_a_line_longer_than_the_limit_is_refused(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr("labelproof.data.textfile.CHUNK", chunk)
    path = write(tmp_path / "a.jsonl", ROW + '{"text": "' + "x" * 1000 + '", "labels": []}\n')
    with pytest.raises(DataFormatError, match=r"a\.jsonl, line 2: expected at most 500 bytes in one line"):
        load_dataset(path, limits=Limits(line_bytes=500))


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress((ROW * 100_000).encode()))
    with pytest.raises(DataFormatError, match=r"a\.jsonl\.gz: expected at most \d+ bytes after unpacking"):
        load_dataset(tmp_path / "a.jsonl.gz", limits=Limits(expansion=20, free_bytes=1000))


def test_what_is_no_source_is_refused(tmp_path):
    with pytest.raises(DataFormatError, match=r"nothing\.csv: no such file or folder"):
        load_dataset(tmp_path / "nothing.csv")
    for source, given in ((7, "int"), (["a", "b", "c"], "3 paths")):
        with pytest.raises(ValueError, match=rf"source must be a path, .*, got {given}$"):
            load_dataset(source)
    with pytest.raises(ValueError, match="format must be one of"):
        load_dataset(write(tmp_path / "a.csv", "text,labels\n"), format="word")
    with pytest.raises(ValueError, match="to be read as a stream, got 'npz'"):
        iter_examples(write(tmp_path / "a.npz", ""))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataFormatError, match="expected files of data in this folder"):
        load_dataset(tmp_path / "empty")
    for kind in ("csv", "parquet"):
        with pytest.raises(DataFormatError, match="/dev/null: expected a file, got a folder or a device"):
            load_dataset("/dev/null", format=kind)


def test_an_error_about_this_folder_names_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataFormatError, match=rf"^{tmp_path.name}: expected files of data"):
        load_dataset(".")


def test_a_second_file_is_read_or_refused(tmp_path):
    paths = [write(tmp_path / name, "text,labels\na,b\n") for name in ("a.csv", "b.csv")]
    for read in (load_dataset, iter_examples):
        with pytest.raises(ValueError, match=r"source must be one path in the format csv, got a\.csv and b\.csv"):
            read(paths)
