"""Blocks of work on threads: in order, taken as there is somebody to work on them, and ended with the caller."""

import pytest

from labelproof.foundation.engines import of_blocks, require_engine, require_threads


def doubled(asked, block, n_jobs, advance):
    advance(len(block))
    return [asked * number for number in block]


def threads_of(asked, block, n_jobs, advance):
    asked.append(n_jobs)


@pytest.mark.parametrize("one_at_a_time", [False, True])
@pytest.mark.parametrize("n_jobs", [None, 1, 3])
def test_blocks_come_back_in_order_and_are_counted(one_at_a_time, n_jobs):
    blocks, done = [[i] * (i % 3) for i in range(20)], []
    how = {"n_blocks": 20, "n_jobs": n_jobs, "one_at_a_time": one_at_a_time, "advance": done.append}
    found = list(of_blocks(doubled, 2, blocks, **how))
    assert found == [(block, [2 * i for i in block]) for block in blocks]
    assert sum(done) == sum(map(len, blocks))


@pytest.mark.parametrize(("one_at_a_time", "expected"), [(True, [4, 4, 4, 4]), (False, [4, 2, 2, 2])])
def test_threads_share_a_block_or_have_one_each(one_at_a_time, expected):
    used = []
    list(of_blocks(threads_of, used, [[1]] * 4, n_blocks=3, n_jobs=4, one_at_a_time=one_at_a_time))
    assert used == expected


@pytest.mark.parametrize("one_at_a_time", [False, True])
def test_blocks_are_not_taken_long_before_they_are_worked_on(one_at_a_time):
    taken = []

    def blocks():
        for i in range(1000):
            taken.append(i)
            yield [i]

    found = of_blocks(doubled, 1, blocks(), n_blocks=1000, n_jobs=2, one_at_a_time=one_at_a_time)
    assert [next(found)[0] for _ in range(10)] == [[i] for i in range(10)]
    found.close()
    assert len(taken) < 30


def test_what_work_raises_reaches_the_caller():
    def fail(asked, block, n_jobs, advance):
        raise LookupError(block)

    with pytest.raises(LookupError, match="2"):
        list(of_blocks(fail, None, [[2], [3]], n_blocks=2))


def test_engines_and_threads_that_there_are_not_are_refused():
    assert [require_engine(name) for name in ("local", "ray")] == ["local", "ray"]
    for engine in ("cloud", None, ["ray"]):
        with pytest.raises(ValueError, match="engine must be 'local' or 'ray', got"):
            require_engine(engine)
    for n_jobs in (0, -1, 1.5):
        with pytest.raises(ValueError, match=r"n_jobs must be a positive number of threads, got"):
            require_threads(n_jobs)
