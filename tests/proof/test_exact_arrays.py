"""Arrays are taken as the numbers that they are, or refused in a sentence."""

import numpy as np
import pytest

from labelproof.proof.exact_arrays import finite_array, real_array


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.uint64, np.float16, np.float32, np.float64])
def test_numbers_of_every_small_type_are_taken(dtype):
    given = np.array([[0, 1], [1, 0]], dtype)
    array = real_array("x", given)
    assert array.dtype == np.float64
    assert array.tolist() == [[0, 1], [1, 0]]
    assert not np.shares_memory(array, given)


@pytest.mark.parametrize("large", [2**53, -(2**53)])
def test_integers_that_floats_hold_are_taken_and_no_others(large):
    assert real_array("x", np.array([large, 0])).tolist() == [large, 0]
    assert real_array("x", []).shape == (0,)
    assert real_array("x", np.empty(0, np.int64)).shape == (0,)
    with pytest.raises(
        ValueError, match=r"^x must hold integers of at most 2\*\*53, so that float64 holds them exactly$"
    ):
        real_array("x", np.array([0, large + np.sign(large)]))
    assert real_array("x", np.array([float(large) * 4])).tolist() == [large * 4]
    with pytest.raises(ValueError, match="integers of at most"):
        real_array("x", np.array([-(2**63)]))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [(["a"], "<U1"), ([1j], "complex128"), ([None], "object"), (np.ones(1, np.longdouble), "float128|longdouble")],
)
def test_other_types_are_refused(values, dtype):
    with pytest.raises(ValueError, match=rf"^x must hold real numbers of at most 64 bits, got dtype ({dtype})$"):
        real_array("x", values)
    with pytest.raises(ValueError, match=r"^x must be an array, got rows of different lengths$"):
        real_array("x", [[1], [1, 2]])


def test_what_is_not_finite_is_named_by_its_first_place():
    values = np.array([[0.0, 1.0, 2.0], [3.0, np.nan, np.inf]])
    assert np.isnan(real_array("x", values)[1, 1])
    with pytest.raises(ValueError, match=r"^x must be finite, got nan at index \(1, 1\)$"):
        finite_array("x", values)
    assert finite_array("x", values[:1]).tolist() == [[0, 1, 2]]
