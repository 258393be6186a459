"""The standalone checker reads .npy and .npz files as numpy writes them, and refuses those that are damaged."""

import io
import struct
import zipfile

import numpy as np
import pytest

from labelproof.proof import standalone
from labelproof.proof.standalone import Array, _parse, _read_arrays, _rows, _take


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npy_of(numbers, *, shape="(2,)", order="False", descr="'<f8'", more="", version=1, length=None):
    """An .npy file of these bytes with a header of our own, its first line padded to a length."""
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, {more}}}".encode()
    header += b" " * ((length or 0) - len(header) - 10)
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + numbers


TWO = struct.pack("<2d", 1.5, -2.0)


@pytest.mark.parametrize("dtype", [f"{sign}{kind}" for sign in "<>" for kind in ("f2", "f4", "f8", "i2", "i4", "i8")])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_of_every_size_sign_and_order_are_read(dtype, order):
    array = np.array([[1, -2, 3], [5, 8, -13]]).astype(dtype)
    expected = Array(dtype[1:], (2, 3), tuple(array.ravel().tolist()))
    assert _parse(npy(np.asarray(array, order=order))) == expected


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "<u2", ">u2", "<u4", ">u4", "<u8", ">u8"])
def test_truth_values_bytes_and_numbers_without_sign_are_read(dtype):
    array = np.array([[0, 1], [1, 1], [0, 0]]).astype(dtype)
    if array.dtype.kind != "b":
        array[0, 0] = np.iinfo(array.dtype).max
    kind = f"{array.dtype.kind}{array.dtype.itemsize}"
    assert _parse(npy(array)) == Array(kind, (3, 2), tuple(array.ravel().tolist()))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 3), (1,), (4,), (1, 4), (4, 1), (2, 1, 2)])
def test_arrays_of_every_shape_are_read(shape):
    array = np.arange(float(np.prod(shape))).reshape(shape)
    assert _parse(npy(array)) == Array("f8", shape, tuple(array.ravel().tolist()))


@pytest.mark.parametrize("array", [np.array(["a", "größe"]), np.array([["ab", "c"]]), np.array([b"abc"])])
def test_text_is_passed_over(array):
    assert _parse(npy(array)) == Array(array.dtype.str.lstrip("<|"), array.shape, ())
    assert _parse(npy(np.asfortranarray(array)))[2] == ()


@pytest.mark.parametrize("array", [np.array(b"csr"), np.array("csr"), np.array("csr", ">U3"), np.array("csr", "U8")])
def test_one_text_alone_is_read(array):
    assert _parse(npy(array))[1:] == ((), ("csr",))


def test_a_header_of_the_second_version_is_read():
    expected = Array("f8", (2,), (1.5, -2.0))
    assert _parse(npy_of(TWO, version=2)) == _parse(npy_of(TWO)) == expected
    assert _parse(npy_of(TWO, version=2, length=300)) == expected
    number = _parse(npy_of(TWO[:8], shape="()", order="True"))
    assert number == Array("f8", (), (1.5,))


def test_a_header_of_ten_thousand_bytes_is_the_longest():
    assert _parse(npy_of(TWO, length=10_000)).flat == (1.5, -2.0)
    with pytest.raises(ValueError, match="expected a short header"):
        _parse(npy_of(TWO, length=10_001))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"shape": "(3,)"}, r"numbers of shape \(3,\)"),
        ({"shape": "(1,)"}, r"numbers of shape \(1,\)"),
        ({"shape": "(-1, -2)"}, r"numbers of shape \(-1, -2\)"),
        ({"shape": "(2, -1, -1)"}, r"numbers of shape \(2, -1, -1\)"),
        ({"descr": "'|O'"}, r"numbers or text, got \|O"),
        ({"descr": "'<c8'"}, "numbers or text, got <c8"),
        ({"descr": "'<f16'"}, "numbers or text, got <f16"),
        ({"descr": "[('a', '<f8')]"}, "numbers or text, got "),
        ({"more": "'more': 1"}, "numbers or text, got <f8"),
        ({"descr": "'<U8'"}, r"numbers of shape \(2,\)"),
        ({"descr": "'|S2'"}, r"numbers of shape \(2,\)"),
    ],
)
def test_a_file_that_does_not_hold_what_it_declares_is_refused(fields, message):
    with pytest.raises(ValueError, match=f"^expected {message}"):
        _parse(npy_of(TWO, **fields))


def test_a_file_that_was_cut_or_goes_on_is_refused():
    for data in (npy_of(TWO) + b"\0", npy_of(TWO)[:-1], npy_of(TWO)[:-16], npy_of(b"", shape="(0, -1)")):
        with pytest.raises(ValueError, match=r"^expected numbers of shape"):
            _parse(data)
    with pytest.raises(ValueError, match=r"^expected a short header"):
        _parse(npy_of(TWO)[:50])


def test_a_file_that_is_no_array_is_an_error():
    for data in (b"", b"\x93NUMPY", b"\x93NUMPY\x03\x00" + npy_of(TWO)[8:], npy_of(TWO, shape="2")):
        with pytest.raises((KeyError, TypeError)):
            _parse(data)


def test_a_type_that_the_processor_does_not_have_is_an_error():
    with pytest.raises(KeyError):
        _parse(npy_of(TWO[:4], shape="(2,)", descr="'<f1'")[:-2])


# Archives


def write_archive(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "."), data)


def test_an_array_is_read_from_its_own_file_or_from_an_archive(tmp_path):
    np.save(tmp_path / "a.npy", [1, 2])
    assert _read_arrays(str(tmp_path / "a.npy")) == {"weight": Array("i8", (2,), (1, 2))}
    np.savez(tmp_path / "a.npz", one=[1, 2], two=[[0.5]])
    expected = {"one": Array("i8", (2,), (1, 2)), "two": Array("f8", (1, 1), (0.5,))}
    assert _read_arrays(str(tmp_path / "a.npz")) == expected
    np.savez_compressed(tmp_path / "a.npz", one=[1, 2], two=[[0.5]])
    assert _read_arrays(str(tmp_path / "a.npz")) == expected


def test_an_archive_has_each_array_once(tmp_path):
    write_archive(tmp_path / "a.npz", a=npy_of(TWO), a__npy=npy_of(TWO))
    with pytest.raises(ValueError, match="expected each array once"):
        _read_arrays(str(tmp_path / "a.npz"))


def test_an_archive_of_more_bytes_than_the_limit_is_not_unpacked(tmp_path, monkeypatch):
    assert standalone.MOST_BYTES == 17_179_869_184  # as much as a reader's memory may have, not as much as can be named
    one = npy_of(TWO)
    write_archive(tmp_path / "a.npz", a=one, b=one)
    monkeypatch.setattr(standalone, "MOST_BYTES", 2 * len(one))
    assert set(_read_arrays(str(tmp_path / "a.npz"))) == {"a", "b"}
    monkeypatch.setattr(standalone, "MOST_BYTES", 2 * len(one) - 1)
    monkeypatch.setattr(zipfile.ZipFile, "read", None)
    with pytest.raises(ValueError, match=f"expected at most {2 * len(one) - 1} bytes of arrays"):
        _read_arrays(str(tmp_path / "a.npz"))


def test_every_array_is_as_long_as_the_archive_declares(tmp_path):
    path = tmp_path / "a.npz"
    write_archive(path, a=npy_of(TWO), b=npy_of(TWO), c=npy_of(TWO))
    content = path.read_bytes()
    places = [i for i in range(len(content)) if content.startswith(b"PK\x01\x02", i)]
    for place in places:
        damaged = bytearray(content)
        damaged[place + 27] ^= 1  # the highest byte of the size in the archive's directory
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="expected arrays of declared sizes"):
            _read_arrays(str(path))
    assert len(places) == 3


def test_a_file_that_is_neither_is_an_error(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"\x93NUMPX" + npy_of(TWO)[6:])
    with pytest.raises(zipfile.BadZipFile):
        _read_arrays(str(tmp_path / "a.npz"))


# Arrays by name


def test_an_array_is_taken_with_its_type_and_shape_alone():
    arrays = {"a": Array("f8", (2, 3), (1, 2, 3, 4, 5, 6)), "b": Array("i8", (2,), (7, 8))}
    assert _take(arrays, "a", "f8", 2, 3) == _take(arrays, "a", "f8", None, 3) == (1, 2, 3, 4, 5, 6)
    assert _take(arrays, "b", "i8", None) == _take(arrays, "b", "i8", 2) == (7, 8)
    for name, kind, *shape in [
        ("a", "f8", 3, 2),
        ("a", "f8", 2, 2),
        ("a", "f8", None),
        ("a", "f8", None, None, None),
        ("a", "f4", 2, 3),
        ("b", "i8", 3),
        ("b", "i8"),
        ("c", "i8", None),
        ("c", "i8"),
    ]:
        with pytest.raises(ValueError, match=f"^expected {name} of type {kind} and shape"):
            _take(arrays, name, kind, *shape)


def test_numbers_are_cut_into_rows():
    assert _rows((1, 2, 3, 4, 5, 6), 2) == [(1, 2), (3, 4), (5, 6)]
    assert _rows((), 2) == []
