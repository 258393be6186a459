"""Damaged files of every format: whatever is wrong, the answer is a data set or one sentence, never another error."""

import gzip
import json
import warnings

import numpy as np
import pytest
import scipy.sparse

from labelproof.data import Dataset, load_dataset, save_dataset
from labelproof.errors import DataFormatError

N_CHANGES = 40
ROWS = [{"text": "a robin", "labels": ["bird"], "split": "train"}, {"text": "no", "labels": [], "split": "test"}]
VOC = "<annotation><filename>1.jpg</filename><object><name>dog</name><difficult>0</difficult></object></annotation>"
PUBMED = (
    "<PubmedArticleSet><PubmedArticle><MedlineCitation><Article><ArticleTitle>T</ArticleTitle><Abstract><AbstractText>A"
    "</AbstractText></Abstract></Article><MeshHeadingList><MeshHeading><DescriptorName>M</DescriptorName></MeshHeading>"
    "</MeshHeadingList></MedlineCitation></PubmedArticle></PubmedArticleSet>"
)
COCO = {
    "images": [{"id": 1, "file_name": "a"}],
    "annotations": [{"image_id": 1, "category_id": 2}],
    "categories": [{"id": 2, "name": "c"}],
}
REUTERS = (
    '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN">\n<TOPICS><D>a</D></TOPICS>\n<TEXT><TITLE>t</TITLE></TEXT>\n</REUTERS>\n'
    '<REUTERS TOPICS="YES" LEWISSPLIT="TEST">\n<TOPICS><D>a</D></TOPICS>\n<TEXT><TITLE>t</TITLE></TEXT>\n</REUTERS>\n'
)
TEXTS = {  # the file's name, what it holds, and the format if the name does not tell
    "a.csv": ('text,labels,split\n"a, b",bird;cat,train\nc,"[""x""]",test\n', None),
    "a.jsonl": ("".join(json.dumps(row) + "\n" for row in ROWS), None),
    "a.json": (json.dumps(ROWS), None),
    "a.svm": ("0,2 0:0.5 3:2 # c\n 2:0\n1 1:1\n", None),
    "a.txt": ("3 4 3\n0,2 0:0.5 3:2\n 2:0\n1 1:1\n", None),
    "trn.json": ('{"title": "a", "content": "b", "target_ind": [0, 2]}\n', None),
    "dense.arff": ("@relation 'x: -C 1'\n@attribute a {0,1}\n@attribute 'b c' numeric\n@data\n1,0.5\n0,?\n", None),
    "sparse.arff": ("@relation 'x: -C -1'\n@attribute b {r,g}\n@attribute a {0,1}\n@data\n{0 g,1 1}\n{}\n", None),
    "tree.arff": ("@relation x\n@attribute b numeric\n@attribute class hierarchical root/a,a/b\n@data\n1,b@a\n", None),
    "coco.json": (json.dumps(COCO), "coco"),
    "bioasq.json": (json.dumps({"articles": [{"title": "a", "meshMajor": ["b"]}]}), "bioasq"),
    "pubmed.xml": (PUBMED, "mesh_pubmed"),
    "arxiv.json": (json.dumps({"title": "a", "abstract": "b", "categories": "c d", "versions": []}), "arxiv"),
    "corpus.jsonl": (json.dumps({"pmid": 1, "sentences": ["a"], "labels": [["b > c"]]}), "hallmarks_of_cancer"),
    "a_Packages": ("Package: a\nTag: a::b, c::d,\n e::f\nDescription: x\n\n", "debtags"),
    "snli.tsv": ("premise\thypothesis\tlabel\na\tb\t1\n", "snli"),
    "SICK.txt": ("sentence_A\tsentence_B\tentailment_label\tSemEval_set\na\tb\tNEUTRAL\tTRIAL\n", "sick"),
    "MovieGenre.csv": ("imdbId,Title,Genre\n1,a,b|c\n", "posters"),
}


def changed(content, rng):
    """Content with a few bytes changed, removed, doubled, or cut off."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(data))) if data else 0
        change = rng.integers(5)
        if change == 0:
            data[place : place + 1] = bytes([rng.integers(256)])
        elif change == 1:
            data[place : place + int(rng.integers(1, 8))] = b""
        elif change == 2:
            data[place:place] = data[place : place + int(rng.integers(1, 20))]
        elif change == 3:
            data[place:place] = [b'"', b"[", b"{", b"\n", b",", b"-1", b"null", b"1e999", b"\x00", b"<", b"9" * 30][
                rng.integers(11)
            ]
        else:
            del data[place:]
    return bytes(data)


def refusal(path, kind):
    """What is said against a file, "" for one that can be read; any other error fails the test."""
    try:
        load_dataset(path, format=kind)
    except DataFormatError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", TEXTS)
def test_damaged_text_files(tmp_path, name):
    text, kind = TEXTS[name]
    path = tmp_path / name
    path.write_text(text)
    assert refusal(path, kind) == ""
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(N_CHANGES):
        path.write_bytes(changed(text.encode(), rng))
        message = refusal(path, kind)
        assert not message or (message.startswith(name) and "\n" not in message)
        refused += bool(message)
    assert refused


def test_damaged_folders(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(N_CHANGES):
        (tmp_path / "reut2-000.sgm").write_bytes(changed(REUTERS.encode(), rng))
        refusal(tmp_path, "reuters21578")
        (tmp_path / "Annotations").mkdir(exist_ok=True)
        (tmp_path / "Annotations" / "1.xml").write_bytes(changed(VOC.encode(), rng))
        refusal(tmp_path, "voc")


@pytest.mark.parametrize("name", ["a.npz", "a.parquet", "a.jsonl.gz", "a.jsonl.xz"])
def test_damaged_binary_files(tmp_path, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    matrix = scipy.sparse.csr_array(np.eye(3, dtype=np.float32))
    save_dataset(Dataset(np.eye(3), ("a", "b", "c"), texts=("x", "y", "z"), features=matrix), tmp_path / name)
    content = (tmp_path / name).read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(N_CHANGES):
        (tmp_path / name).write_bytes(changed(content, rng))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zipfile warns of duplicate names
            refusal(tmp_path / name, None)


def test_bytes_after_the_end_of_a_compressed_file_are_refused(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(json.dumps(ROWS[0]).encode()) + b"more")
    assert "expected .gz data" in refusal(tmp_path / "a.jsonl.gz", None)
