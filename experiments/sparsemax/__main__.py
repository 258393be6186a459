"""Run what is missing and write the page: python -m experiments.sparsemax [--smoke] [--only PART] [--out FOLDER]."""

from experiments.options import Places, parsed
from experiments.rows import read_rows
from experiments.sparsemax import benchmark, maps, page, proportions
from labelproof.training import read_records

PARTS = ("maps", "proportions", *benchmark.SETS)


def main(words: list[str] | None = None) -> None:
    """Run the parts that are asked for, then write the page from all that is stored."""
    options = parsed("sparsemax", PARTS, words)
    places = Places("sparsemax", options.out)
    shares, table = places.results / "proportions.jsonl", places.results / "benchmark.jsonl"
    if "maps" in options.only:
        maps.draw_maps(places.picture("maps"))
        maps.draw_losses(places.picture("losses"))
    if "proportions" in options.only:
        proportions.run(shares, smoke=options.smoke)
    names = tuple(name for name in benchmark.SETS if name in options.only)
    if names:
        benchmark.run(table, ("generated",) if options.smoke else names)
    rows = read_rows(shares)
    if rows:
        proportions.draw(rows, places.picture("proportions"))
    page.write(places.page, rows, benchmark.tuned(table), read_records(table))


if __name__ == "__main__":
    main()
