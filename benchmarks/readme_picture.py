"""Draw the README's picture: three labels on two features, and the six of eight label combinations that are left."""

from pathlib import Path

import numpy as np

from labelproof.pictures import draw_arrangement

TARGET = Path(__file__).parents[1] / "docs/pictures/six-of-eight.png"


def main() -> None:
    angles = np.deg2rad([97, 217, 337])
    draw_arrangement(
        np.column_stack([np.cos(angles), np.sin(angles)]),
        TARGET,
        label_names=["cat", "dog", "bird"],
        balls=False,
        inside="names",
        title="Three labels, two features: 6 of 8 combinations.\nNowhere: cat + dog + bird, and no label at all.",
    )


if __name__ == "__main__":
    main()
