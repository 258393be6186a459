"""Run what is missing and write the page: python -m experiments.sigmoid_f1 [--smoke] [--only PART ...]."""

from experiments.options import Places, parsed
from experiments.rows import read_rows, read_runs
from experiments.sigmoid_f1 import faults, grid, page, pictures, published, times
from experiments.sigmoid_f1.tasks import TASKS
from experiments.summary import write_summary

PARTS = ("surrogates", "published", "faults", *TASKS, "heat", "batches", "times")


def main(words: list[str] | None = None) -> None:
    """Run the parts that are asked for, then write the page from all that is stored."""
    options = parsed("sigmoid_f1", PARTS, words)
    places = Places("sigmoid_f1", options.out)
    files = {
        name: places.results / f"{name}.jsonl"
        for name in ("losses", "heat", "batches", "published", "faults", "times", "repeated")
    }
    if "surrogates" in options.only:
        pictures.draw_surrogates(places.picture("surrogates"))
    if "published" in options.only:
        published.run(files["published"], smoke=options.smoke)
    if "faults" in options.only:
        faults.run(files["faults"], smoke=options.smoke)
    names = tuple(name for name in TASKS if name in options.only)
    if names:
        grid.run(files["losses"], names, smoke=options.smoke)
    if "heat" in options.only:
        grid.run_heat(files["heat"], smoke=options.smoke)
    if "batches" in options.only:
        grid.run_batches(files["batches"], smoke=options.smoke)
    if "times" in options.only:
        times.run(files["times"], smoke=options.smoke)
    runs, heat = grid.best_rates(files["losses"]), read_runs(files["heat"])
    for name, losses in runs.items():
        pictures.draw_boxes(losses, places.picture(name), name)
    if heat:
        pictures.draw_heat(heat, places.picture("heat"))
    page.write(
        places.page,
        read_runs(files["losses"]),
        runs,
        heat,
        read_runs(files["batches"]),
        read_rows(files["published"]),
        read_rows(files["faults"]),
        read_rows(files["times"]),
        read_rows(files["repeated"]),
        PARTS,
    )
    write_summary(places.page.parent, "sigmoid_f1")


if __name__ == "__main__":
    main()
