"""Run what is missing and write the page: python -m experiments.sigmoid_bottleneck [--smoke] [--only PART ...]."""

from experiments.options import Places, parsed
from experiments.rows import read_rows, read_runs
from experiments.sigmoid_bottleneck import arrangements, grid, grid_picture, page, radii, speed, tasks, variants, widths
from experiments.summary import write_summary

PARTS = ("arrangements", "radii", "stored", *tasks.TASKS, "variants", "widths", "speed")


def main(words: list[str] | None = None) -> None:
    """Run the parts that are asked for, then write the page from all that is stored."""
    options = parsed("sigmoid_bottleneck", PARTS, words)
    places = Places("sigmoid_bottleneck", options.out)
    regions, runs, wide, varied, stored, timed = (
        places.results / f"{name}.jsonl" for name in ("radii", "grid", "widths", "variants", "stored", "speed")
    )
    if "arrangements" in options.only:
        arrangements.draw_counts(places.picture("counts"))
        arrangements.draw_cyclic(places.picture("cyclic"))
        arrangements.draw_lattices(places.picture("lattice_dft"), places.picture("lattice_normal"))
    if "radii" in options.only:
        radii.run(regions, smoke=options.smoke)
    names = tuple(name for name in tasks.TASKS if name in options.only)
    if names:
        grid.run(runs, names, smoke=options.smoke)
    if "stored" in options.only:
        variants.run_stored(stored, smoke=options.smoke)
    if "variants" in options.only:
        variants.run(varied, smoke=options.smoke)
    if "widths" in options.only:
        widths.run(wide, smoke=options.smoke)
    if "speed" in options.only:
        speed.run(timed, smoke=options.smoke)
    rows, found, needed = read_rows(regions), grid.results(runs), widths.needed(wide)
    if len(needed) > 2:
        widths.draw(needed, places.picture("widths"))
    if rows:
        radii.draw(rows, places.picture("radii"))
    for name, heads in found.items():
        grid_picture.draw(heads, places.picture(name), tasks.TITLES.get(name, name))
    page.write(
        places.page,
        rows,
        found,
        needed,
        read_runs(wide),
        variants.results(varied),
        read_rows(stored),
        read_rows(timed),
        read_rows(places.results / "repeated.jsonl"),
        PARTS,
    )
    write_summary(places.page.parent, "sigmoid_bottleneck")


if __name__ == "__main__":
    main()
