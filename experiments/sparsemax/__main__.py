"""Run what is missing and write the page: python -m experiments.sparsemax [--smoke] [--only PART] [--out FOLDER]."""

from experiments.options import Places, parsed
from experiments.rows import read_rows, read_runs
from experiments.sparsemax import benchmark, inference, maps, page, proportions
from experiments.summary import write_summary

PARTS = ("maps", "proportions", *benchmark.SETS, *inference.SETS)


def main(words: list[str] | None = None) -> None:
    """Run the parts that are asked for, then write the page from all that is stored."""
    options = parsed("sparsemax", PARTS, words)
    places = Places("sparsemax", options.out)
    names = ("proportions", "benchmark", "inference", "majority")
    shares, table, pairs, majority = (places.results / f"{name}.jsonl" for name in names)
    if "maps" in options.only:
        maps.draw_maps(places.picture("maps"))
        maps.draw_losses(places.picture("losses"))
    if "proportions" in options.only:
        proportions.run(shares, smoke=options.smoke)
    set_names = tuple(name for name in benchmark.SETS if name in options.only)
    if set_names:
        benchmark.run(table, ("generated",) if options.smoke else set_names)
    pair_names = tuple(name for name in inference.SETS if name in options.only)
    if pair_names:
        inference.run_majority(majority, ("generated",) if options.smoke else pair_names)
        inference.run(pairs, ("generated",) if options.smoke else pair_names)
    rows, attention = read_rows(shares), inference.results(pairs)
    if rows:
        proportions.draw(rows, places.picture("proportions"))
    for name, runs in attention.items():
        inference.draw(runs, places.picture(f"attention_{name}"))
    frequent = {row["setting"]["data"]: row["result"]["accuracy"] for row in read_rows(majority)}
    runs = [*read_runs(table), *read_runs(pairs)]
    repeated = read_rows(places.results / "repeated.jsonl")
    page.write(places.page, rows, benchmark.tuned(table), attention, frequent, runs, repeated, PARTS)
    write_summary(places.page.parent, "sparsemax")


if __name__ == "__main__":
    main()
