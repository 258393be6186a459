"""Where numba's private parts are not those that were tested, our own threads run the same kernels."""

import os
import subprocess
import sys

import pytest

PRETEND = {
    "another version": "import numba; numba.__version__ = '0.99.0rc1'",
    "a part is missing": "from numba.core import cgutils; del cgutils.for_range_slice",
}
SCRIPT = """
import numpy as np
from labelproof.foundation import threads
from labelproof.parallel import dispatch, team_loops
from labelproof.simplex import sparsemax

used = []
run_together = dispatch.run_together
dispatch.run_together = lambda works: used.append(len(works)) or run_together(works)
dispatch.FOR_A_TEAM = dispatch.FOR_A_SLEEPER = 1
scores = np.array([[2.0, 1.5, 0.0], [0.0, 0.0, 0.0], [0.0, 9.0, 0.0]])
print(team_loops.TEAMS, np.round(sparsemax(scores, n_jobs=2), 12).tolist(), used)
"""


@pytest.mark.parametrize("before", PRETEND.values(), ids=PRETEND)
def test_kernels_run_in_our_own_threads(before, tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}  # what was compiled for teams must not be found
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", before + SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    right = [[0.75, 0.25, 0.0], [round(1 / 3, 12)] * 3, [0.0, 1.0, 0.0]]
    assert done.stdout == f"False {right} [2]\n", done.stderr
