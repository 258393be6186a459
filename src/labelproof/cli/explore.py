"""labelproof explore: try label combinations of a trained model on a local page."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from labelproof.cli.explore_inputs import Sought, kept_inputs, with_inputs
from labelproof.cli.feature_files import Calibration, read_features
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
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="DATA",
            help="Instead of --labels: a data set with texts, images or features to run the model on: how far "
            "from such inputs is a combination?",
            show_default=False,
        ),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(
            help="Features of real inputs, .npy or sparse .npz, if the model cannot be run here.",
            show_default=False,
        ),
    ] = None,
    calibration: Calibration = None,
    audit: Annotated[
        Path | None,
        typer.Option(help="With --data: folder of an earlier audit, whose features are used.", show_default=False),
    ] = None,
    part: Part = None,
    label_column: LabelColumn = None,
    label_names: LabelNames = None,
    weight_key: WeightKey = None,
    bias: Bias = None,
    rule: FoundRule = None,
    thresholds: FoundThresholds = None,
    ties: InactiveTies = "inactive",
    domain: FoundDomain = None,
    host: Annotated[
        str, typer.Option(help="Address to serve on; other addresses than the default let others connect.")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve on; 0 chooses a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Try label combinations on a local page: can the model predict them, and if not, why?

    The page is served on this machine until Ctrl-C.
    """
    from labelproof.explorer import serve

    if data is not None and (labels is not None or features is not None):
        raise ValueError("--data takes the place of --labels and --features, got both")
    if audit is not None and data is None:
        raise ValueError("--audit goes with --data, got it alone")
    if calibration is not None and features is None:
        raise ValueError("--calibration goes with --features, got it alone")
    layer, names = read_model(model, weight_key, bias, label_names, data=data or labels)
    found = Sought(names, None, None, None)
    if data is not None:
        found = with_inputs(layer, names, data, part, label_column or (), model, audit)
    elif labels is not None:
        from labelproof.data.label_files import read_label_file

        read = read_label_file(
            labels, label_names=names, n_labels=layer.n_labels, part=part, columns=label_column or ()
        )
        if read.note:
            print(read.note)
        found = Sought(read.names, read.sets, None, None)
    if features is not None:
        from labelproof.auditing.real_inputs import given

        held_out = None if calibration is None else read_features(calibration)
        found = replace(found, inputs=given(read_features(features), held_out))
    elif found.inputs is None:
        found = kept_inputs(model, found)
    serve(
        layer,
        label_names=found.names,
        label_sets=found.label_sets,
        inputs=found.inputs,
        bar=found.bar,
        **as_asked(rule, thresholds, domain),
        ties=ties,  # type: ignore[arg-type] # the verifier says which there are
        host=host,
        port=port,
        open_browser=not no_browser,
    )
