"""Run what is missing and write the page: python -m experiments.sigmoid_bottleneck [--smoke] [--only PART ...]."""

from experiments.options import Places, parsed
from experiments.rows import read_rows
from experiments.sigmoid_bottleneck import arrangements, grid, grid_picture, page, radii
from experiments.summary import write_summary

PARTS = ("arrangements", "radii", *grid.TASKS)


def main(words: list[str] | None = None) -> None:
    """Run the parts that are asked for, then write the page from all that is stored."""
    options = parsed("sigmoid_bottleneck", PARTS, words)
    places = Places("sigmoid_bottleneck", options.out)
    regions, runs = places.results / "radii.jsonl", places.results / "grid.jsonl"
    if "arrangements" in options.only:
        arrangements.draw_counts(places.picture("counts"))
        arrangements.draw_cyclic(places.picture("cyclic"))
        arrangements.draw_lattices(places.picture("lattice_dft"), places.picture("lattice_normal"))
    if "radii" in options.only:
        radii.run(regions, smoke=options.smoke)
    names = tuple(name for name in grid.TASKS if name in options.only)
    if names:
        grid.run(runs, names, smoke=options.smoke)
    rows, found = read_rows(regions), grid.results(runs)
    if rows:
        radii.draw(rows, places.picture("radii"))
    for name, heads in found.items():
        grid_picture.draw(heads, places.picture(name), name)
    page.write(places.page, rows, found)
    write_summary(places.page.parent)


if __name__ == "__main__":
    main()
