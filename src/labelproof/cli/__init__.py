"""The command line: one file for each verb, which reads its files, calls one function and prints."""

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from labelproof.cli.audit import audit
from labelproof.cli.check import check
from labelproof.cli.compile import compile  # noqa: A004 - the verb
from labelproof.cli.console import Verbs
from labelproof.cli.count import count
from labelproof.cli.data import data
from labelproof.cli.demo import demo
from labelproof.cli.evaluate import evaluate
from labelproof.cli.explain import explain
from labelproof.cli.explore import explore
from labelproof.cli.plan import plan
from labelproof.cli.predict import predict
from labelproof.cli.report import report
from labelproof.cli.stretch import stretch
from labelproof.cli.train import train
from labelproof.cli.tune import tune
from labelproof.cli.verify import verify
from labelproof.foundation.release import __version__

__all__ = ["app", "main"]

app = typer.Typer(cls=Verbs, add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
app.command(epilog="Example: labelproof demo --data comments.csv --text comment --labels tags")(demo)
app.command(epilog="Example: labelproof audit my-model/ --labels test.csv -o audit --fail-under 0.99")(audit)
app.command(epilog="Example: labelproof report audits/first audits/second -o report.html")(report)
app.command(epilog="Example: labelproof explore my-model/ --labels test.csv")(explore)
app.add_typer(data, name="data")
app.command(epilog="Example: labelproof verify W.npz --labels Y.npz -o result.npz --fail-under 0.99")(verify)
app.command(epilog="Example: labelproof check result.npz --weights W.npz")(check)
app.command(epilog="Example: labelproof stretch my-model/ --labels test.csv --features F.npy --calibration C.npy")(
    stretch
)
app.command(epilog="Example: labelproof explain W.npz --set 3,17,20 --label-names names.txt")(explain)
app.command(epilog="Example: labelproof count 1000 50 -k 8")(count)
app.command(epilog="Example: labelproof plan --labels Y.npz")(plan)
app.command(epilog="Example: labelproof tune --scores S.npy --labels Y.npz -o rule.json, or tune --model M --data D")(
    tune
)
app.command(
    epilog="Example: labelproof evaluate --scores S.npy --labels Y.npz --rule rule.json, or evaluate --model M --data D"
)(evaluate)
app.command(epilog="Example: labelproof train --data reviews.csv -o runs/first")(train)
app.command(epilog="Example: NUMBA_CACHE_DIR=/var/cache/numba labelproof compile")(compile)
app.command(epilog="Example: labelproof predict runs/first/model new.csv -o predictions.jsonl")(predict)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ≤ is no reason to fail
    app(prog_name="labelproof")


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Prove which label combinations a multi-label classifier can ever predict.

    Exit codes: 0 done; 1 a requirement is not met or a proof does not hold; 2 wrong use or bad input;
    130 interrupted by Ctrl-C.
    """
    if version:
        print(f"labelproof {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(2)
