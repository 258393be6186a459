"""ARFF: dense and sparse, labels named by XML, by -C or by a hierarchy, and the figures of real data sets."""

import numpy as np
import pytest

from labelproof.data import iter_examples, load_dataset
from labelproof.data.hierarchy import read_hierarchy
from labelproof.errors import DataFormatError
from real_data import figures, folder_of

DENSE = """% a comment
@relation 'animals: -C 2'

@attribute bird {0,1}
@attribute 'house \\'cat\\'' {0,1}
@attribute weight numeric
@ATTRIBUTE colour {red, 'light, blue'}
@data
1,0,0.5,red
0,1,?,'light, blue'
0,0,3,?
"""
XML = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="{}"/><label name="{}"></label></labels>'


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_a_dense_file_with_nominal_and_missing_values(tmp_path):
    data = load_dataset(write(tmp_path / "a.arff", DENSE))
    assert data.label_sets() == [("bird",), ("house 'cat'",), ()]
    assert data.feature_names == ("weight", "colour=red", "colour=light, blue")
    np.testing.assert_array_equal(data.features, np.array([[0.5, 1, 0], [np.nan, 0, 1], [3, np.nan, 0]], np.float32))


def test_a_negative_count_means_the_last_attributes(tmp_path):
    text = "@relation 'x: -C -1'\n@attribute a numeric\n@attribute b {0,1}\n@data\n5,1\n"
    data = load_dataset(write(tmp_path / "a.arff", text))
    assert (data.label_names, data.feature_names) == (("b",), ("a",))


def test_a_feature_may_have_the_name_of_a_label(tmp_path):
    text = "@relation 'x: -C 1'\n@attribute a {0,1}\n@attribute a numeric\n@data\n1,5\n"
    data = load_dataset(write(tmp_path / "a.arff", text))
    assert (data.label_sets(), data.features.tolist()) == ([("a",)], [[5]])


def test_a_sparse_file_with_the_labels_of_an_xml_file(tmp_path):
    text = "@relation x\n@attribute f {0,1}\n@attribute b {0,1}\n@attribute g numeric\n@attribute a {0,1}\n@data\n"
    write(tmp_path / "pets-train.arff", text + "{0 1,3 1}\n{}\n{1 1, 2 0.5}\n")
    write(tmp_path / "pets.xml", XML.format("a", "b"))
    data = load_dataset(tmp_path / "pets-train.arff")
    assert data.label_names == ("a", "b")
    assert data.label_sets() == [("a",), (), ("b",)]
    assert data.features.toarray().tolist() == [[1, 0], [0, 0], [0, 0.5]]
    pair = load_dataset((tmp_path / "pets-train.arff", tmp_path / "pets.xml"))
    assert pair.label_sets() == [example.labels for example in iter_examples(tmp_path / "pets-train.arff")]


def test_labels_within_labels_are_labels(tmp_path):
    text = "@relation x\n@attribute a {0,1}\n@attribute b {0,1}\n@attribute f numeric\n@data\n1,1,5\n"
    write(tmp_path / "a.xml", '<labels><label name="b"><label name="a"/></label></labels>')
    data = load_dataset(write(tmp_path / "a.arff", text))
    assert (data.label_names, data.feature_names) == (("b", "a"), ("f",))


def test_the_xml_file_of_another_data_set_is_left_alone(tmp_path):
    write(tmp_path / "an.xml", XML.format("x", "y"))
    assert load_dataset(write(tmp_path / "animals.arff", DENSE)).n_labels == 2


def test_dense_and_sparse_rows_of_a_nominal_attribute_agree(tmp_path):
    head = "@relation 'x: -C 1'\n@attribute a {0,1}\n@attribute c {0,1,2}\n@attribute d {1,0}\n@data\n"
    dense = load_dataset(write(tmp_path / "a.arff", head + "1,0,1\n0,2,0\n"))
    sparse = load_dataset(write(tmp_path / "b.arff", head + "{0 1}\n{1 2,2 0}\n"))
    assert sparse.features.toarray().tolist() == dense.features.tolist() == [[1, 0, 0, 1], [0, 0, 1, 0]]


def test_line_breaks_in_a_text_are_written_as_weka_does(tmp_path):
    text = "@relation 'x: -C 1'\n@attribute a {0,1}\n@attribute t string\n@data\n1,'a\\nb\\tc\\\\n'\n"
    assert load_dataset(write(tmp_path / "a.arff", text)).texts == ("a\nb\tc\\n",)


def test_a_value_that_a_sparse_row_omits_is_the_first_one(tmp_path):
    text = "@relation 'x: -C 1'\n@attribute a {0,1}\n@attribute c {red,blue}\n@data\n{0 1}\n{1 blue}\n{1 red}\n"
    data = load_dataset(write(tmp_path / "a.arff", text))
    assert data.features.toarray().tolist() == [[1, 0], [0, 1], [1, 0]]


def test_one_string_attribute_is_the_text(tmp_path):
    text = "@relation 'x: -C 1'\n@attribute a {0,1}\n@attribute t string\n@data\n1,'it\\'s, well'\n{1 'b'}\n"
    data = load_dataset(write(tmp_path / "a.arff", text))
    assert data.texts == ("it's, well", "b")
    assert data.features is None


HIERARCHICAL = "@RELATION x\n@ATTRIBUTE f numeric\n@ATTRIBUTE class hierarchical {}\n@DATA\n"


def test_labels_are_closed_upward_along_edges(tmp_path):
    text = HIERARCHICAL.format("root/a,a/b,root/c,c/b,b/d") + "0.5,d\n?,c@a\n"
    data = load_dataset(write(tmp_path / "a.arff", text))
    assert data.label_sets() == [("a", "b", "c", "d"), ("a", "c")]


def test_labels_are_closed_upward_along_paths(tmp_path):
    data = load_dataset(write(tmp_path / "a.arff", HIERARCHICAL.format("01,01/02,01/02/03,02") + "1,01/02@02\n"))
    assert data.label_names == ("01", "01/02", "01/02/03", "02")
    assert data.label_sets() == [("01", "01/02", "02")]


def test_a_hierarchy_with_a_cycle_is_refused():
    with pytest.raises(DataFormatError, match="expected a hierarchy without cycles, got one through"):
        read_hierarchy("root/a,a/b,b/a")
    with pytest.raises(DataFormatError, match="expected edges parent/child, got 'a/b/c'"):
        read_hierarchy("root/a,a/b/c")


@pytest.mark.parametrize("turn", [1, -1])
def test_a_hierarchy_of_very_many_levels_is_refused(turn):
    edges = ["root/0", *(f"{i}/{i + 1}" for i in range(3000))][::turn]
    with pytest.raises(DataFormatError, match="expected a hierarchy of at most 200 levels, got more"):
        read_hierarchy(",".join(edges))
    with pytest.raises(DataFormatError, match="here: expected labels of at most 200 levels, got 3000"):
        read_hierarchy("/".join("a" * 3000), "here")


def changed(old, new):
    return DENSE.replace(old, new)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.arff: expected a line @data, got the end of the file"),
        ("@relation x\n@data\n", "a.arff, line 2: expected @attribute lines before @data, got none"),
        ("@relation x\nhello\n", "a.arff, line 2: expected @relation, @attribute or @data in the header, got 'hello'"),
        (changed("-C 2", "no"), "a.arff: expected -C in the relation's name, an XML file of labels, or a"),
        (changed("-C 2", "-C 9"), "a.arff: expected -C of 1 to 4, the number of attributes, got 9"),
        (changed("weight numeric", "weight"), "a.arff, line 6: expected @attribute NAME TYPE"),
        (changed("weight numeric", "weight date"), "a.arff, line 6: expected an attribute that is numeric, string"),
        (changed("bird {0,1}", "bird {a,b}"), "a.arff: expected the label 'bird' to be {0,1}, got ('a', 'b')"),
        (
            changed("bird {0,1}", "bird {1,0}") + "{2 1}",
            "a.arff, line 12: expected the label 'bird' to be {0,1} in a sp",
        ),
        (changed("1,0,0.5,red", "{0 1}"), "a.arff: features must have sparse rows in every example, got 3 values"),
        (changed("1,0,0.5,red", "1,0,0.5"), "a.arff, line 9: expected 4 values, got 3"),
        (changed("1,0,0.5,red", "2,0,0.5,red"), "a.arff, line 9: expected 0 or 1 for the label 'bird', got '2'"),
        (changed("1,0,0.5,red", "1,0,x,red"), "a.arff, line 9: expected a number for 'weight', got 'x'"),
        (
            changed("1,0,0.5,red", "1,0,1,pink"),
            "a.arff, line 9: expected one of red, light, blue for 'colour', got 'pink'",
        ),
        (changed("1,0,0.5,red", "1,0,1,'red"), "a.arff, line 9: expected a closing ', got the end of the line"),
        (changed("1,0,0.5,red", "{9 1}"), "a.arff, line 9: expected an attribute's number from 0 to 3, got '9'"),
        (changed("1,0,0.5,red", "{2 1, 2 1, 3 red}"), "a.arff, line 9: expected each attribute once in a sparse row"),
        (changed("1,0,0.5,red", "{0 1, 0 0}"), "line 9: expected each attribute once in a sparse row, got 0 twice"),
        (changed("{red, 'light, blue'}", "{ }"), "a.arff, line 7: expected an attribute that is numeric, string"),
        (changed("1,0,0.5,red", "{0 1"), "a.arff, line 9: expected a row that ends in }, got one cut short"),
        (DENSE.partition("1,0")[0], "a.arff: expected rows after @data, got none"),
        (
            changed("weight numeric", "weight string"),
            "a.arff: expected one string attribute alone, or none, got 'weight'",
        ),
        (HIERARCHICAL.format("root/a") + "1,b\n", "a.arff, line 5: expected a label of the hierarchy, got 'b'"),
        (
            HIERARCHICAL.format("root/a") + "{0 1}\n",
            "a.arff, line 5: expected plain rows with a hierarchical attribute",
        ),
        (
            HIERARCHICAL.format("a\n@attribute z numeric"),
            "a.arff, line 4: expected the hierarchical attribute to be the",
        ),
    ],
)
def test_bad_files_are_refused(tmp_path, text, message):
    with pytest.raises(DataFormatError) as caught:
        load_dataset(write(tmp_path / "a.arff", text))
    assert message in str(caught.value)


def test_bad_xml_is_refused(tmp_path):
    arff = write(tmp_path / "a.arff", DENSE)
    with pytest.raises(
        DataFormatError, match=r"a\.arff: expected one attribute 'fish', which b\.xml names as a label, got 0"
    ):
        load_dataset((arff, write(tmp_path / "b.xml", XML.format("bird", "fish"))))
    with pytest.raises(DataFormatError, match=r"b\.xml: expected elements <label .*, got none"):
        load_dataset((arff, write(tmp_path / "b.xml", "<labels/>")))
    with pytest.raises(DataFormatError, match=r"b\.xml: expected elements <label .*, got one without a name"):
        load_dataset((arff, write(tmp_path / "b.xml", "<labels><label/></labels>")))
    with pytest.raises(DataFormatError, match=r"b\.xml: expected each label once, got 'bird' twice"):
        load_dataset((arff, write(tmp_path / "b.xml", XML.format("bird", "bird"))))
    with pytest.raises(DataFormatError, match=r"b\.xml, line 1: expected well-formed XML"):
        load_dataset((arff, write(tmp_path / "b.xml", "<labels>")))
    bomb = '<!DOCTYPE x [<!ENTITY a "boom"><!ENTITY b "&a;&a;">]><labels><label name="&b;"/></labels>'
    with pytest.raises(DataFormatError, match=r"b\.xml, line 1: expected no entity declarations"):
        load_dataset((arff, write(tmp_path / "b.xml", bomb)))
    with pytest.raises(DataFormatError, match=r"b\.xml, line 1: expected at most 200 levels"):
        load_dataset((arff, write(tmp_path / "b.xml", "<a>" * 300)))


@pytest.mark.parametrize(
    ("name", "parts", "n_features", "expected"),
    [
        ("scene", {"train": 1211, "test": 1196}, 294, (2407, 6, 1.074, 3, 15)),
        ("emotions", {"train": 391, "test": 202}, 72, (593, 6, 1.868, 3, 27)),
        ("birds", {"train": 322, "test": 323}, 271, (645, 19, 1.014, 6, 133)),
        ("cal500", {}, 68, (502, 174, 26.044, 48, 502)),
        ("bibtex", {"train": 4880, "test": 2515}, 1836, (7395, 159, 2.402, 28, 2856)),
        ("corel5k", {"train": 4500, "test": 500}, 499, (5000, 374, 3.522, 5, 3175)),
    ],
)
def test_figures_of_mulan_sets(name, parts, n_features, expected):
    data = load_dataset(folder_of(name))
    assert {part: len(data.part(part)) for part in data.parts} == parts
    assert figures(data) == expected
    assert data.n_features == n_features


def test_labels_that_the_training_part_lacks_are_dropped_by_it():
    data = load_dataset(folder_of("corel5k")).drop_rare_labels(1)
    assert data.n_labels == 371
    assert len(data.dropped) == 3


@pytest.mark.parametrize(
    ("stem", "expected"),
    [("cellcycle_GO", (4125, 34.9, 141, 3056)), ("cellcycle_FUN", (499, 8.8, 45, 2320))],
)
def test_figures_of_hierarchical_sets(stem, expected):
    folder = folder_of("hmc_yeast")
    data = load_dataset({part: folder / f"{stem}.{part}.arff.gz" for part in ("train", "valid", "test")})
    n_labels, cardinality, k, sets = figures(data)[1:]
    assert (n_labels, round(cardinality, 1), k, sets) == expected
