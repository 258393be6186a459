"""Published data sets in their own formats: the figures of those that are here, and small files of the others."""

import gzip
import json
import lzma
import runpy
import shutil
from itertools import islice
from pathlib import Path

import pytest

from labelproof.data import Limits, iter_examples, load_dataset
from labelproof.data.jsondocument import iter_members
from labelproof.data.published.bioasq import iter_bioasq
from labelproof.data.published.corpora import read_corpus
from labelproof.data.published.debian import iter_debian, iter_installed
from labelproof.data.published.posters import read_posters
from labelproof.data.published.pubmed import iter_pubmed
from labelproof.data.published.reuters import read_reuters
from labelproof.data.published.voc import read_voc
from labelproof.errors import DataFormatError
from real_data import figures, folder_of


def write(path, text, encoding="utf-8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding=encoding)
    return path


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


# The figures of real data


@pytest.mark.parametrize(
    ("name", "level", "expected"),
    [
        ("hallmarks_of_cancer", "document", (1852, 37, 3.117, 15, 422)),
        ("hallmarks_of_cancer", "sentence", (17464, 37, 0.656, 11, 296)),
        ("chemical_exposure", "document", (3661, 69, 6.259, 20, 1331)),
    ],
)
def test_figures_of_the_two_corpora(name, level, expected):
    assert figures(read_corpus(folder_of(name), level=level)) == expected


def test_figures_of_mesh():
    folder_of("mesh_pubmed")
    data = load_dataset("mesh_pubmed")
    assert figures(data) == (14832, 9315, 10.605, 29, 14825)
    assert figures(data.drop_rare_labels(10))[1:4] == (2689, 9.142, 25)
    assert figures(data.drop_rare_labels(50))[1:4] == (467, 6.076, 22)


def test_figures_of_reuters():
    folder_of("reuters21578")
    data = load_dataset("reuters21578")
    assert figures(data)[1:] == (90, 1.235, 15, 468)
    assert (len(data.part("train")), len(data.part("test"))) == (7770, 3019)


def test_figures_of_debian_tags():
    folder_of("debtags")
    data = load_dataset("debtags")
    assert figures(data) == (30293, 572, 3.661, 60, 8987)
    assert len(set(data.groups.tolist())) < len(data)


def test_figures_of_the_packages_that_come_with_us(monkeypatch):
    monkeypatch.delenv("LABELPROOF_DATA", raising=False)
    data = load_dataset("debian_packages")
    assert figures(data) == (5893, 228, 4.742, 28, 2735)
    assert len(set(data.groups.tolist())) == 4200
    assert not any(name.startswith("special::") or name.endswith("::TODO") for name in data.label_names)


def test_the_packages_that_come_with_us_are_built_from_debians_lists_again():
    (source,) = folder_of("debtags").glob("*.jsonl.xz")
    build = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "demo_data.py"))
    with lzma.open(source, "rt", encoding="utf-8") as file:
        text = "".join(build["lines"](build["choose"]([json.loads(line) for line in file])))
    assert text.encode() == lzma.decompress(build["TARGET"].read_bytes())


def test_figures_of_a_part_of_arxiv():
    data = load_dataset(folder_of("arxiv") / "arxiv-test.jsonl.xz", format="arxiv")
    assert figures(data)[0::2] == (17326, 2.051, 2064)
    assert min(data.times) == "2025-08-01"


def test_figures_of_sentence_pairs():
    folder_of("sick"), folder_of("snli")
    sick, snli = load_dataset("sick"), load_dataset("snli")
    assert [len(sick.part(part)) for part in ("train", "valid", "test")] == [4439, 495, 4906]
    assert [len(snli.part(part)) for part in ("valid", "test")] == [9842, 9824]
    assert figures(snli)[1:] == (3, 1.0, 1, 3)
    assert sick.label_names == snli.label_names == ("entailment", "neutral", "contradiction")
    assert snli.texts[0] != snli.text_pairs[0]


def test_the_package_lists_of_this_machine():
    if shutil.which("apt-cache") is None or not any(Path("/var/lib/apt/lists").glob("*_Packages*")):
        pytest.skip("this machine has no package lists of Debian")
    packages = list(islice(iter_installed(), 100))
    assert len(packages) == 100
    assert all("::" in tag for package in packages for tag in package.labels)


def test_a_machine_without_package_lists(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DataFormatError, match="apt-cache: no such program"):
        next(iter_installed())


def test_a_name_that_is_nowhere(monkeypatch, tmp_path):
    monkeypatch.delenv("LABELPROOF_DATA", raising=False)
    with pytest.raises(DataFormatError, match="nowhere: no such file or folder, nor a data set under LABELPROOF_DATA"):
        load_dataset("nowhere")
    monkeypatch.setenv("LABELPROOF_DATA", str(tmp_path))
    with pytest.raises(DataFormatError, match="nowhere: no such file or folder, nor a folder of this name under"):
        load_dataset("nowhere")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.jsonl", "arxiv"),
        ("a.jsonl", "hallmarks_of_cancer"),
        ("a.jsonl", "debtags"),
        ("a.jsonl", "mesh_pubmed"),
        ("a.jsonl", "snli"),
        ("SICK.txt", "sick"),
        ("MovieGenre.csv", "posters"),
    ],
)
def test_an_empty_file_is_no_data_set(tmp_path, name, kind):
    with pytest.raises(DataFormatError, match=rf"{name}: expected examples, got none"):
        load_dataset(write(tmp_path / name, ""), format=kind)


def test_a_folder_of_the_name_of_a_data_set_is_read_as_this(monkeypatch, tmp_path):
    for part in ("dev", "test"):
        write(tmp_path / "snli" / f"snli_1.0_{part}.tsv", "premise\thypothesis\tlabel\na\tb\t1\n")
    assert load_dataset(tmp_path / "snli").parts == ("valid", "test")
    monkeypatch.setenv("LABELPROOF_DATA", str(tmp_path))
    assert load_dataset("snli").label_sets() == [("neutral",)] * 2


# Reuters

STORY = """<REUTERS TOPICS="{}" LEWISSPLIT="{}" NEWID="1">
<DATE> 2-MAR-1987 15:01:01.79</DATE>
<TOPICS>{}</TOPICS>
<TEXT>&#2;
<TITLE>A &lt;B></TITLE><BODY>caf\xe9
 &#3;</BODY></TEXT>
</REUTERS>
"""


def test_reuters_keeps_the_stories_of_the_split_and_the_topics_of_both_parts(tmp_path):
    stories = [
        ("YES", "TRAIN", "<D>grain</D><D>rare</D>"),
        ("YES", "TEST", "<D>grain</D>"),
        ("YES", "TEST", ""),
        ("YES", "NOT-USED", "<D>grain</D>"),
        ("NO", "TRAIN", "<D>grain</D>"),
    ]
    text = "<!DOCTYPE lewis>\n" + "".join(STORY.format(*story) for story in stories)
    write(tmp_path / "reut2-000.sgm", text, encoding="latin-1")
    data = load_dataset(tmp_path, format="reuters21578")
    assert data.label_sets() == [("grain",), ("grain",)]
    assert data.texts[0] == "A <B>\n\ncaf\xe9"
    assert data.times.tolist() == ["1987-03-02", "1987-03-02"]
    assert len(read_reuters(tmp_path, topics="all")) == 3
    with pytest.raises(ValueError, match="topics must be 'r90' or 'all', got 'r8'"):
        read_reuters(tmp_path, topics="r8")


def test_bad_reuters_files_are_refused(tmp_path):
    with pytest.raises(DataFormatError, match=r"expected files reut2-\*\.sgm"):
        read_reuters(tmp_path)
    story = STORY.format("YES", "TRAIN", "").replace("</REUTERS>", "")
    write(tmp_path / "reut2-000.sgm", story)
    with pytest.raises(DataFormatError, match="expected stories of training and test, got train"):
        load_dataset(write(tmp_path / "reut2-000.sgm", STORY.format("YES", "TRAIN", "")).parent, format="reuters21578")
    write(tmp_path / "reut2-000.sgm", story)
    with pytest.raises(DataFormatError, match=r"reut2-000\.sgm: expected </REUTERS>, got the end of the file"):
        read_reuters(tmp_path)
    write(tmp_path / "reut2-000.sgm", story + story)
    with pytest.raises(DataFormatError, match=r"reut2-000\.sgm, line 8: expected </REUTERS> before the next story"):
        read_reuters(tmp_path)


# Corpora, arXiv


def test_a_corpus_is_closed_upward(tmp_path):
    row = {"pmid": "7", "sentences": ["one", "two"], "labels": [["a > b", "a > c"], []]}
    path = write(tmp_path / "a.jsonl", lines(row))
    assert read_corpus(path).label_sets() == [("a", "a > b", "a > c")]
    assert read_corpus(path, level="sentence").label_sets() == [("a", "a > b", "a > c"), ()]
    assert read_corpus(tmp_path, level="sentence").groups.tolist() == ["7", "7"]
    with pytest.raises(ValueError, match="level must be 'document' or 'sentence', got 'word'"):
        read_corpus(path, level="word")
    write(tmp_path / "b.jsonl", lines({"sentences": ["one"], "labels": []}))
    with pytest.raises(DataFormatError, match=r"expected one \.jsonl file in this folder, got 2"):
        read_corpus(tmp_path)
    with pytest.raises(
        DataFormatError, match=r"b\.jsonl, line 1: expected 'sentences' and 'labels' to be lists of one"
    ):
        read_corpus(tmp_path / "b.jsonl")
    deep = {"pmid": 1, "sentences": ["one"], "labels": [[" > ".join("a" * 201)]]}
    with pytest.raises(DataFormatError, match=r"b\.jsonl, line 1: expected labels of at most 200 levels, got 201"):
        read_corpus(write(tmp_path / "b.jsonl", lines(deep)))


def test_arxiv_in_the_form_of_its_snapshot(tmp_path):
    listed = {"title": "a", "abstract": "b", "categories": ["cs.LG"], "published": "2025-08-01T10:00:00Z"}
    assert next(iter_examples(write(tmp_path / "a.json", lines(listed)), format="arxiv")).time == "2025-08-01"
    row = {"title": "On\n  it", "abstract": " We do. ", "categories": "cs.LG stat.ML", "update_date": "2020-01-01"}
    dated = {**row, "versions": [{"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"}]}
    data = load_dataset(write(tmp_path / "a.json", lines(row, dated)), format="arxiv")
    assert data.label_sets() == [("cs.LG", "stat.ML")] * 2
    assert data.texts[0] == "On it\n\nWe do."
    assert data.times.tolist() == ["2020-01-01", "2007-04-02"]
    with pytest.raises(
        DataFormatError, match=r"b\.json, line 1: expected 'title', 'abstract' and 'categories', got id"
    ):
        load_dataset(write(tmp_path / "b.json", lines({"id": "x"})), format="arxiv")
    for created in ({}, {"created": 5}):
        with pytest.raises(DataFormatError, match=r"b\.json, line 1: expected versions with a day 'created'"):
            load_dataset(write(tmp_path / "b.json", lines({**row, "versions": [created]})), format="arxiv")


def test_what_is_null_is_no_text(tmp_path):
    row = {"title": "T", "abstract": None, "categories": "a", "update_date": None}
    data = load_dataset(write(tmp_path / "a.json", lines(row)), format="arxiv")
    assert (data.texts, data.times.tolist()) == (("T\n\n",), [""])
    articles = [{"title": None, "abstract": "A", "mesh": ["m"]}, {"title": "T", "abstract": None, "mesh": ["m"]}]
    data = load_dataset(write(tmp_path / "b.jsonl", lines(*articles)), format="mesh_pubmed")
    assert (data.texts, data.times.tolist()) == (("A",), [""])


def test_one_file_in_a_folder_is_no_part(tmp_path):
    row = {"title": "T", "abstract": "A", "categories": "a"}
    write(tmp_path / "arxiv-metadata.json", lines(row))
    assert load_dataset(tmp_path, format="arxiv").split is None
    write(tmp_path / "arxiv-test.json", lines(row))
    assert load_dataset(tmp_path, format="arxiv").parts == ("test",)


# PubMed and BioASQ

ARTICLE = """<?xml version="1.0"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2019//EN" "pubmed_190101.dtd">
<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article>
<Journal><JournalIssue><PubDate><MedlineDate>1979 Jan-Feb</MedlineDate></PubDate></JournalIssue></Journal>
<ArticleTitle>On <i>E. coli</i> &amp; others.</ArticleTitle>
<Abstract><AbstractText Label="A">First.</AbstractText><AbstractText>Second.</AbstractText></Abstract></Article>
<MeshHeadingList><MeshHeading><DescriptorName UI="D1">Animals</DescriptorName></MeshHeading>
<MeshHeading><DescriptorName>Braces, Orthodontic</DescriptorName><QualifierName>use</QualifierName></MeshHeading>
</MeshHeadingList></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><Article><ArticleTitle>None.</ArticleTitle></Article></MedlineCitation></PubmedArticle>
</PubmedArticleSet>"""


def test_pubmed_xml(tmp_path):
    (tmp_path / "pubmed.xml.gz").write_bytes(gzip.compress(ARTICLE.encode()))
    data = load_dataset(tmp_path, format="mesh_pubmed")
    assert data.texts == ("On E. coli & others.\n\nFirst. Second.",)
    assert data.label_sets() == [("Animals", "Braces, Orthodontic")]
    assert data.times.tolist() == ["1979"]
    assert len(list(iter_pubmed(tmp_path / "pubmed.xml.gz", with_abstract=False))) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("others.", "caf&eacute;.", "a.xml, line 5: expected no entities that XML does not define, got 'eacute'"),
        ('"1.0"?', '"1.0" encoding="shift_jis"?', "a.xml: expected XML in UTF-8 or another encoding (multi-byte"),
        ('"1.0"?', '"1.0" encoding="klingon"?', "a.xml: expected XML in UTF-8 or another encoding (unknown enc"),
    ],
)
def test_characters_of_xml_are_read_or_refused(tmp_path, old, new, message):
    with pytest.raises(DataFormatError) as caught:
        list(iter_pubmed(write(tmp_path / "a.xml", ARTICLE.replace(old, new))))
    assert message in str(caught.value)


def test_an_element_of_very_many_empty_ones_is_refused(tmp_path):
    path = write(tmp_path / "a.xml", f"<PubmedArticle>{'<a/>' * 1000}</PubmedArticle>")
    with pytest.raises(DataFormatError, match=r"a\.xml, line 1: expected an element of at most 9999 characters"):
        list(iter_pubmed(path, Limits(line_bytes=9999)))


def test_bad_pubmed_is_refused(tmp_path):
    with pytest.raises(DataFormatError, match=r"expected files \.xml or \.jsonl in this folder"):
        load_dataset(tmp_path, format="mesh_pubmed")
    path = write(tmp_path / "a.xml", "<PubmedArticleSet>\n<PubmedArticle/></PubmedArticleSet>")
    with pytest.raises(DataFormatError, match=r"a\.xml, line 2: expected <MedlineCitation>"):
        load_dataset(path, format="mesh_pubmed")
    long = write(tmp_path / "b.xml", ARTICLE)
    with pytest.raises(DataFormatError, match=r"b\.xml, line 3: expected an element of at most 99 characters"):
        load_dataset(long, format="mesh_pubmed", limits=Limits(line_bytes=99))
    with pytest.raises(DataFormatError, match=r"c\.jsonl, line 1: expected 'mesh', a list of strings, got None"):
        load_dataset(write(tmp_path / "c.jsonl", lines({"title": "a"})), format="mesh_pubmed")


BIOASQ = {
    "year": 2021,
    "articles": [
        {
            "pmid": "1",
            "title": "T.",
            "abstractText": 'A {["\\.',
            "meshMajor": ["Humans", "Lungs, left"],
            "year": "2019",
        },
        {"pmid": "2", "title": "U.", "abstractText": None, "meshMajor": [], "year": None},
    ],
}


@pytest.mark.parametrize("indent", [None, 1])
def test_bioasq_in_one_line_or_in_many(tmp_path, indent):
    data = load_dataset(write(tmp_path / "a.json", json.dumps(BIOASQ, indent=indent)), format="bioasq")
    assert data.label_sets() == [("Humans", "Lungs, left"), ()]
    assert data.texts == ('T.\n\nA {["\\.', "U.")
    assert data.times.tolist() == ["2019", ""]
    assert [example.labels for example in iter_examples(tmp_path / "a.json", format="bioasq")] == data.label_sets()


def test_bioasq_in_latin_1(tmp_path):
    write(tmp_path / "a.json", '{"articles": [{"title": "caf\xe9", "meshMajor": ["a"]}]}', encoding="latin-1")
    assert next(iter_bioasq(tmp_path / "a.json", encoding="latin-1")).text == "caf\xe9"
    with pytest.raises(DataFormatError, match=r"a\.json, line 1: expected text in UTF-8, got byte 0xe9"):
        list(iter_bioasq(tmp_path / "a.json"))


def test_a_document_is_read_piece_by_piece(tmp_path, monkeypatch):
    document = {"info": {"a": [1]}, "n": 123, "numbers": [12, 345, 6.5, "x,]}"], "none": [], "end": None}
    for chunk in (1, 2, 7):
        monkeypatch.setattr("labelproof.data.jsondocument.CHUNK", chunk)
        members = list(iter_members(write(tmp_path / "a.json", json.dumps(document))))
        assert members == [
            ("info", {"a": [1]}),
            ("n", 123),
            *(("numbers", n) for n in document["numbers"]),
            ("end", None),
        ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"articles": [{"meshMajor": []},\n', "a.json, line 2: expected a JSON value"),
        ('{"articles": [\n{"meshMajor": []} {}]}', "a.json, line 2: expected ,, got {"),
        ('{"articles": [{"meshMajor": []}', "a.json, line 1: expected ,, got the end of the file"),
        ("[]", "a.json, line 1: expected {, got ["),
        ("", "a.json, line 1: expected {, got the end of the file"),
        ('{"articles": ["x"]}', "a.json, article 1: expected an object, got str"),
        ('{"articles": [{"meshMajor": [1]}]}', "a.json, article 1: expected 'meshMajor', a list of strings, got [1]"),
        ("{}", "a.json: expected a list 'articles', got none"),
        ('{"articles": []}\n{"articles": []}', "a.json, line 2: expected the end of the file, got {"),
        ('{"articles": [' + "[" * 100_000 + "]}", "a.json, line 1: expected values that are not nested so deeply"),
    ],
)
def test_bad_documents_are_refused(tmp_path, text, message):
    with pytest.raises(DataFormatError) as caught:
        load_dataset(write(tmp_path / "a.json", text), format="bioasq")
    assert message in str(caught.value)


def test_a_value_longer_than_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("labelproof.data.jsondocument.CHUNK", 10)
    path = write(tmp_path / "a.json", json.dumps({"articles": ["x" * 1000]}))
    with pytest.raises(DataFormatError, match=r"expected a JSON value of at most 100 characters \(Unterm"):
        load_dataset(path, format="bioasq", limits=Limits(line_bytes=100))


# MIMIC-III


@pytest.fixture
def mimic(tmp_path):
    notes = "ROW_ID,SUBJECT_ID,HADM_ID,CATEGORY,TEXT\n" + "".join(
        f'{i},{subject},{stay},{category},"{text}"\n'
        for i, (subject, stay, category, text) in enumerate(
            [
                (1, 100, "Discharge summary", 'first\nline, ""quoted""'),
                (1, 100, "Nursing", "no"),
                (1, 100, "Discharge summary", "addendum"),
                (2, 200, "Discharge summary", "second"),
                (3, "300.0", "Discharge summary", "third"),
                (4, 400, "Discharge summary", "in no part"),
            ]
        )
    )
    write(tmp_path / "NOTEEVENTS.csv", notes)
    write(tmp_path / "DIAGNOSES_ICD.csv", "ROW_ID,HADM_ID,ICD9_CODE\n1,100,4019\n2,100,E8498\n3,200,V1234\n4,300,\n")
    (tmp_path / "PROCEDURES_ICD.csv.gz").write_bytes(gzip.compress(b"HADM_ID,ICD9_CODE\n100,3893\n"))
    for part, stays in (("train", "100\n200\n"), ("test", "300\n")):
        write(tmp_path / f"{part}_full_hadm_ids.csv", stays)
    return tmp_path


def test_mimic_joins_the_summaries_and_codes_of_a_stay(mimic):
    data = load_dataset(mimic, format="mimic")
    assert data.texts[0] == 'first\nline, "quoted"\naddendum'
    assert data.label_sets() == [("38.93", "401.9", "E849.8"), ("V12.34",), ()]
    assert data.split.tolist() == ["train", "train", "test"]
    assert data.groups.tolist() == ["1", "2", "3"]


def test_mimic_without_a_split_has_all_stays(mimic):
    for path in mimic.glob("*_hadm_ids.csv"):
        path.unlink()
    data = load_dataset(mimic, format="mimic")
    assert (len(data), data.split) == (4, None)


def test_bad_mimic_is_refused(mimic):
    def refused(message):
        with pytest.raises(DataFormatError) as caught:
            load_dataset(mimic, format="mimic")
        assert message in str(caught.value)

    write(mimic / "dev_full_hadm_ids.csv", "200\n")
    refused("train_full_hadm_ids.csv, line 2: expected a stay of one part only, got 200 again")
    write(mimic / "dev_full_hadm_ids.csv", "abc\n")
    refused("dev_full_hadm_ids.csv, line 1: expected the number of a stay, got 'abc'")
    (mimic / "dev_full_hadm_ids.csv").unlink()
    write(mimic / "DIAGNOSES_ICD.csv", "HADM_ID,CODE\n1,2\n")
    refused("DIAGNOSES_ICD.csv, line 2: expected a column 'ICD9_CODE', got HADM_ID, CODE")
    (mimic / "DIAGNOSES_ICD.csv").unlink()
    refused("expected a file DIAGNOSES_ICD.csv or DIAGNOSES_ICD.csv.gz in this folder")


# Images


def test_open_images(tmp_path):
    rows = "ImageID,Source,LabelName,Confidence\na,verification,/m/1,1\na,verification,/m/2,0\nb,verification,/m/2,0\n"
    write(tmp_path / "oidv6-train-annotations-human-imagelabels.csv", rows)
    write(tmp_path / "validation-annotations-human-imagelabels.csv", rows.replace("/m/1", "/m/3"))
    write(tmp_path / "oidv6-class-descriptions.csv", 'LabelName,DisplayName\n/m/1,"Cat, big"\n/m/2,Dog\n/m/3,Dog\n')
    data = load_dataset(tmp_path, format="open_images")
    assert data.label_names == ("Cat, big", "/m/2", "/m/3")
    assert data.label_sets() == [("Cat, big",), (), ("/m/3",), ()]
    assert data.split.tolist() == ["train", "train", "valid", "valid"]
    assert data.image_paths[0] == str(tmp_path / "train" / "a.jpg")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("ImageID,LabelName\na,/m/1\n", "line 2: expected a column 'Confidence', got ImageID, LabelName"),
        ("ImageID,LabelName,Confidence\na,/m/9,1\n", "line 2: expected a label of the class descriptions, got '/m/9'"),
        ("ImageID,LabelName,Confidence\na,/m/1,0.5\n", "line 2: expected a Confidence of 0 or 1, got '0.5'"),
    ],
)
def test_bad_open_images_are_refused(tmp_path, rows, message):
    with pytest.raises(DataFormatError, match="expected files"):
        load_dataset(tmp_path, format="open_images")
    write(tmp_path / "train-annotations-human-imagelabels.csv", rows)
    write(tmp_path / "class-descriptions.csv", "/m/1,Cat\n")
    with pytest.raises(DataFormatError) as caught:
        load_dataset(tmp_path, format="open_images")
    assert message in str(caught.value)


COCO = {
    "info": {"year": 2017},
    "images": [{"id": 5, "file_name": "5.jpg"}, {"id": 6, "file_name": "6.jpg"}],
    "annotations": [{"image_id": 5, "category_id": 3}, {"image_id": 5, "category_id": 3}],
    "categories": [{"id": 9, "name": "dog"}, {"id": 3, "name": "cat"}],
}


def test_coco(tmp_path):
    path = write(tmp_path / "annotations" / "instances_train2017.json", json.dumps(COCO))
    write(tmp_path / "annotations" / "instances_val2017.json", json.dumps(COCO))
    data = load_dataset(tmp_path, format="coco")
    assert data.label_names == ("dog", "cat")
    assert data.label_sets() == [("cat",), ()] * 2
    assert data.split.tolist() == ["train", "train", "valid", "valid"]
    assert data.image_paths[3] == str(tmp_path / "val2017" / "6.jpg")
    alone = load_dataset(path, format="coco")
    assert (alone.split, alone.image_paths) == (None, data.image_paths[:2])
    elsewhere = write(tmp_path / "a" / "instances_x.json", json.dumps(COCO | {"images": [{"id": 5, "file_name": 7}]}))
    assert load_dataset(elsewhere, format="coco").image_paths == (str(tmp_path / "a" / "x" / "7"),)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": [{"id": 5}]}, "a.json: expected images, annotations and categories with their keys ('file_name')"),
        ({"images": [COCO["images"][0]] * 2}, "a.json: expected every image once, got image 5 twice"),
        ({"annotations": [{"image_id": i, "category_id": 3} for i in (7, "x")]}, "in the file, got image 7"),
        ({"images": []}, "a.json: expected annotations of images in the file, got image 5"),
        ({"categories": [{"id": 3, "name": 7}]}, "a.json: labels must be given by name, got 7"),
        ({"categories": []}, "a.json: expected categories in the file, got category 3"),
    ],
)
def test_bad_coco_is_refused(tmp_path, changes, message):
    with pytest.raises(DataFormatError) as caught:
        load_dataset(write(tmp_path / "a.json", json.dumps(COCO | changes)), format="coco")
    assert message in str(caught.value)


def test_folders_that_are_not_coco_are_refused(tmp_path):
    with pytest.raises(DataFormatError, match=r"expected files instances_\*\.json"):
        load_dataset(tmp_path, format="coco")
    for year in (2014, 2017):
        write(tmp_path / f"instances_train{year}.json", json.dumps(COCO))
    with pytest.raises(DataFormatError, match=r"expected one file instances_train\*\.json, got several"):
        load_dataset(tmp_path, format="coco")


VOC = """<annotation><filename>000001.jpg</filename><object><name>dog</name><difficult>0</difficult>
<part><name>head</name></part></object><object><name>person</name><difficult>1</difficult></object></annotation>"""


def test_voc(tmp_path):
    write(tmp_path / "Annotations" / "000001.xml", VOC)
    write(tmp_path / "Annotations" / "000002.xml", "<annotation></annotation>")
    assert load_dataset(tmp_path, format="voc").split is None
    write(tmp_path / "ImageSets" / "Main" / "train.txt", "000001\n")
    write(tmp_path / "ImageSets" / "Main" / "test.txt", "000002\n")
    data = load_dataset(tmp_path, format="voc")
    assert data.label_sets() == [("dog", "person"), ()]
    assert data.split.tolist() == ["train", "test"]
    assert data.image_paths[1] == str(tmp_path / "JPEGImages" / "000002.jpg")
    assert read_voc(tmp_path, difficult=False).label_sets() == [("dog",), ()]


def test_bad_voc_is_refused(tmp_path):
    def refused(message):
        with pytest.raises(DataFormatError) as caught:
            load_dataset(tmp_path, format="voc")
        assert message in str(caught.value)

    refused("expected files Annotations/*.xml in this folder, got none")
    path = write(tmp_path / "Annotations" / "1.xml", "<annotation>\n<object/></annotation>")
    refused("1.xml, line 2: expected <name> in <object>")
    write(path, "<other/>")
    refused("1.xml: expected an element <annotation>, got none")
    write(path, '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotation>&x;</annotation>')
    refused("1.xml, line 1: expected no entity declarations, which are not expanded, got 'x'")
    write(tmp_path / "ImageSets" / "Main" / "val.txt", "7 1\n")
    refused("expected Annotations/7.xml, which a list names")


def test_movie_posters(tmp_path):
    rows = "imdbId,Title,Genre,Poster\n1,Am\xe9lie,Comedy|Romance,http\n1,again,Comedy,http\n2,Untold,,http\n"
    write(tmp_path / "MovieGenre.csv", rows, encoding="latin-1")
    data = load_dataset(tmp_path, format="posters")
    assert data.label_sets() == [("Comedy", "Romance"), ()]
    assert data.texts[0] == "Am\xe9lie"
    write(tmp_path / "posters" / "2.jpg", "")
    assert len(read_posters(tmp_path, only_with_image=True)) == 1
    write(tmp_path / "MovieGenre.csv", "imdbId,Title\n1,a\n")
    with pytest.raises(DataFormatError, match=r"MovieGenre\.csv, line 2: expected a column 'Genre', got imdbId, Title"):
        load_dataset(tmp_path, format="posters")


# Debian, SNLI, SICK

PACKAGES = """Package: 0ad
Source: zero (1.2)
Description: a game
Tag: game::strategy, role::program,
 special::obsolete, use::TODO

Package: plain
Description: without tags
"""


def test_debian_package_lists(tmp_path):
    data = load_dataset(write(tmp_path / "x_Packages", PACKAGES), format="debtags")
    assert data.label_sets() == [("game::strategy", "role::program")]
    assert data.groups.tolist() == ["zero"]
    assert len(load_dataset(tmp_path, format="debtags")) == 1
    rows = [{"package": "a", "source": "zero", "description": "a game", "tags": ["game::strategy", "use::TODO"]}]
    rows.append({"package": "b", "source": None, "description": "bare", "tags": ["use::editing"]})
    listed = load_dataset(write(tmp_path / "a.jsonl", lines(*rows)), format="debtags")
    assert (listed.label_sets(), listed.groups.tolist()) == ([("game::strategy",), ("use::editing",)], ["zero", "b"])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a_Packages", "nothing\n", "a_Packages: expected lines NAME: VALUE, got 'nothing'"),
        ("a_Packages", "", "a_Packages: expected packages, got none"),
        ("a.jsonl", "{}", "a.jsonl, line 1: expected 'description' and 'tags', got nothing"),
    ],
)
def test_bad_package_lists_are_refused(tmp_path, name, text, message):
    with pytest.raises(DataFormatError) as caught:
        list(iter_debian(write(tmp_path / name, text)))
    assert message in str(caught.value)


def test_a_folder_of_several_package_lists_is_refused(tmp_path):
    with pytest.raises(DataFormatError, match=r"expected one Packages or \.jsonl file in this folder, got 0"):
        load_dataset(tmp_path, format="debtags")


def test_snli_as_published_leaves_out_pairs_without_agreement(tmp_path):
    pairs = [("neutral", "a", "b"), ("-", "c", "d")]
    rows = [dict(zip(("gold_label", "sentence1", "sentence2"), pair, strict=True)) for pair in pairs]
    data = load_dataset(write(tmp_path / "snli_1.0_train.jsonl", lines(*rows)), format="snli")
    assert (data.texts, data.text_pairs, data.label_sets()) == (("a",), ("b",), [("neutral",)])
    with pytest.raises(DataFormatError, match=r"b\.tsv, line 2: expected one of entailment, neutral, contradiction"):
        load_dataset(write(tmp_path / "b.tsv", "premise\thypothesis\tlabel\na\tb\t7\n"), format="snli")
    with pytest.raises(DataFormatError, match=r"b\.tsv, line 2: expected the columns label, premise, hypothesis"):
        load_dataset(write(tmp_path / "b.tsv", "premise\tlabel\na\t1\n"), format="snli")


def test_bad_sick_is_refused(tmp_path):
    with pytest.raises(DataFormatError, match=r"expected a file SICK\.txt"):
        load_dataset(tmp_path, format="sick")
    write(tmp_path / "SICK.txt", "sentence_A\tsentence_B\tentailment_label\na\tb\tNEUTRAL\n")
    with pytest.raises(DataFormatError, match=r"SICK\.txt, line 2: expected a column SemEval_set"):
        load_dataset(tmp_path, format="sick")
