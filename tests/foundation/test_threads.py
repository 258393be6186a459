"""BLAS has one thread as long as anybody asks for that, and its own number again afterwards."""

from threadpoolctl import threadpool_info, threadpool_limits

from labelproof.foundation.threads import in_threads, one_blas_thread


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_who_ends_first_leaves_the_others_their_one_thread():
    with threadpool_limits(2, "blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}


def test_work_that_was_left_in_the_middle_gives_nobody_else_more_threads():
    with threadpool_limits(2, "blas"):
        left = in_threads(str, range(3), 1)
        next(left)
        with one_blas_thread():
            left.close()
            assert blas_threads() == {1}
        assert blas_threads() == {2}
