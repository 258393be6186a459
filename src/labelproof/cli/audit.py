"""labelproof audit: which label combinations can a trained model never predict, and does it matter?"""

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from labelproof.cli.audit_options import OTHERS, Data, Further, Inputs, Running, Searching
from labelproof.cli.grouped import grouped
from labelproof.cli.models import FoundReading, LayerOptions
from labelproof.cli.options import FORMATS

__all__ = ["audit"]

OF_INDEX = {one.name for one in fields(Searching)}
OF_MODELS = {"model", "vocabulary", *(one.name for one in fields(LayerOptions))}
OF_ALL = {one.name for one in fields(Running)}
"""Parameters that an audit of an index, of any model, and of anything has; the others go with label sets."""


@grouped
def audit(
    context: typer.Context,
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help=f"{FORMATS[0].upper()}{FORMATS[1:]}.", show_default=False)
    ] = None,
    *,
    data: Data,
    running: Running,
    layer: LayerOptions,
    reading: FoundReading,
    inputs: Inputs,
    further: Further,
    vocabulary: Annotated[
        bool,
        typer.Option(
            "--vocabulary",
            help="MODEL is a language model: which tokens can it never rank first?",
            rich_help_panel=OTHERS,
        ),
    ] = False,
    searching: Searching,
) -> None:
    """Prove which label combinations of the data a trained model can never predict.

    With --vocabulary, which tokens a language model never ranks first; with --index, which relevant documents no query
    vector returns together.

    Exit code 1 if a set of --require, or a larger share than --fail-under allows, cannot be predicted.
    """
    _refuse_others(context, of_index=searching.index is not None, of_vocabulary=vocabulary)
    if searching.index is not None:
        from labelproof.cli.audit_index import audit_index_of

        passed = audit_index_of(searching.index, searching, running)
    elif model is None:
        raise ValueError("Missing argument 'MODEL' (see --help)")
    elif vocabulary:
        from labelproof.cli.audit_vocabulary import audit_vocabulary_of

        passed = audit_vocabulary_of(model, layer, running)
    else:
        from labelproof.cli.audit_label_sets import audit_label_sets_of

        passed = audit_label_sets_of(model, layer, reading, data, inputs, further, running)
    if not passed:
        raise typer.Exit(1)


def _refuse_others(context: typer.Context, *, of_index: bool, of_vocabulary: bool) -> None:
    """Refuse parameters that were given and go with an audit of something else."""
    for one in context.command.params:
        name = str(one.name)
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE":
            continue
        fitting = None
        if of_index and name in OF_MODELS:
            fitting = "an audit without --index"
        elif not of_index and name in OF_INDEX:
            fitting = "--index"
        elif (of_index or of_vocabulary) and name not in OF_INDEX | OF_MODELS | OF_ALL:
            fitting = "the audit of label sets"
        if fitting is not None:
            given = one.opts[0] if one.opts[0].startswith("-") else name.upper()
            raise ValueError(f"{given} goes with {fitting} only")
