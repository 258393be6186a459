"""labelproof explore: try label combinations of a trained model on a local page."""

from typing import Annotated

import typer

from labelproof.cli.models import (
    FoundDomain,
    FoundRule,
    FoundThresholds,
    InactiveTies,
    ModelFile,
    as_asked,
    read_model,
)
from labelproof.cli.options import Bias, LabelColumn, LabelNames, Part, SomeLabels, WeightKey

__all__ = ["explore"]


def explore(
    model: ModelFile,
    labels: SomeLabels = None,
    part: Part = None,
    label_column: LabelColumn = None,
    label_names: LabelNames = None,
    weight_key: WeightKey = None,
    bias: Bias = None,
    rule: FoundRule = None,
    thresholds: FoundThresholds = None,
    ties: InactiveTies = "inactive",
    domain: FoundDomain = None,
    host: Annotated[str, typer.Option(help="Address to serve on; others than this machine's let others in.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve on; 0 is any that is free.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only.")] = False,
) -> None:
    """Try label combinations on a local page: can the model predict them, and what stands in the way?

    The page is served on this machine until Ctrl-C.
    """
    from labelproof.explorer import serve

    layer, names = read_model(model, weight_key, bias, label_names)
    data = None
    if labels is not None:
        from labelproof.data.label_files import read_label_file

        data = read_label_file(
            labels, label_names=names, n_labels=layer.n_labels, part=part, columns=label_column or ()
        )
        if data.note:
            print(data.note)
    serve(
        layer,
        label_names=names if data is None else data.names,
        label_sets=None if data is None else data.sets,
        **as_asked(rule, thresholds, domain),
        ties=ties,  # type: ignore[arg-type] # the verifier says which there are
        host=host,
        port=port,
        open_browser=not no_browser,
    )
