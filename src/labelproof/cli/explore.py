"""labelproof explore: try label combinations of a trained model on a local page."""

from pathlib import Path
from typing import Annotated

import typer

from labelproof.cli.options import LabelNames

__all__ = ["explore"]


def explore(
    model: Annotated[
        Path,
        typer.Argument(
            help="A model folder (labelproof, Hugging Face), or a file: .safetensors, .pt, .ckpt, .bin, .skops, .onnx, "
            ".npz, .npy, .csv.",
            show_default=False,
        ),
    ],
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            "-l",
            metavar="DATA",
            help="Label sets, or a data set with labels by name, in which similar combinations are looked for.",
            show_default=False,
        ),
    ] = None,
    label_names: LabelNames = None,
    weight_key: Annotated[
        str | None, typer.Option(help="Which tensor is the output layer.", show_default=False)
    ] = None,
    bias: Annotated[Path | None, typer.Option(help="Bias of each label, from a file.", show_default=False)] = None,
    rule: Annotated[
        str | None,
        typer.Option(metavar="sigmoid|topk|sparsemax", help="By default the model's own.", show_default=False),
    ] = None,
    thresholds: Annotated[
        str | None,
        typer.Option(metavar="FILE|NUMBER", help="By default the model's own, else ½.", show_default=False),
    ] = None,
    ties: Annotated[
        str, typer.Option(metavar="open|inactive", help="'inactive' is what logits > 0 computes.")
    ] = "inactive",
    domain: Annotated[
        str | None,
        typer.Option(
            metavar="free|nonnegative|LOW,HIGH",
            help="Which features reach the layer; by default what the model tells.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to serve on; others than this machine's let others in.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve on; 0 is any that is free.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only.")] = False,
) -> None:
    """Try label combinations on a local page: can the model predict them, and what stands in the way?

    The page is served on this machine until Ctrl-C.
    """
    from labelproof.auditing import AS_FOUND
    from labelproof.auditing.names import align
    from labelproof.cli import files
    from labelproof.cli.audit_inputs import read_audit_labels
    from labelproof.explorer import serve
    from labelproof.importers import read_layer

    layer = read_layer(model, weight_key=weight_key, bias=None if bias is None else files.read_numbers(bias).ravel())
    names = files.read_label_names(label_names, layer.n_labels) or layer.label_names
    data = None if labels is None else align(layer, read_audit_labels(labels, names), names)
    serve(
        layer,
        label_names=names if data is None else data.names,
        label_sets=None if data is None else data.sets,
        rule=AS_FOUND if rule is None else rule,
        thresholds=AS_FOUND if thresholds is None else files.read_thresholds(thresholds),
        ties=ties,  # type: ignore[arg-type] # the verifier says which there are
        domain=AS_FOUND if domain is None else None if domain == "free" else files.parse_domain(domain),
        host=host,
        port=port,
        open_browser=not no_browser,
    )
