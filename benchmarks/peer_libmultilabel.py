"""LibMultiLabel's linear one-vs-rest method with its defaults, in an environment that has it; see real_data.py.

    python peer_libmultilabel.py FOLDER PART ...

Reads training.npz, labels.npz and PART.npz, and writes the decision values of each part.
"""

import sys
from pathlib import Path

import numpy as np
import scipy.sparse
from libmultilabel import linear

folder = Path(sys.argv[1])
features, labels = (scipy.sparse.load_npz(folder / f"{name}.npz") for name in ("training", "labels"))
model = linear.train_1vsrest(labels, features, options="-m 1", verbose=False)
for part in sys.argv[2:]:
    np.save(
        folder / f"{part}.npy", np.asarray(linear.predict_values(model, scipy.sparse.load_npz(folder / f"{part}.npz")))
    )
