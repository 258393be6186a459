"""labelproof explain: why can this label set not be predicted, and what comes near?"""

from typing import Annotated, Any

import typer

from labelproof.cli.console import console, print_json
from labelproof.cli.engines import connected
from labelproof.cli.options import (
    Address,
    AsJson,
    Bias,
    Domain,
    EngineName,
    LabelNames,
    Rule,
    Thresholds,
    Ties,
    TimeLimit,
    WeightKey,
    Weights,
)

__all__ = ["explain"]


def explain(
    weights: Weights,
    indices: Annotated[
        str | None, typer.Option("--set", metavar="3,17,20", help="The active labels.", show_default=False)
    ] = None,
    set_names: Annotated[
        str | None, typer.Option(metavar="'A;B'", help="The same by name.", show_default=False)
    ] = None,
    label_names: LabelNames = None,
    weight_key: WeightKey = None,
    bias: Bias = None,
    thresholds: Thresholds = None,
    rule: Rule = "sigmoid",
    ties: Ties = "open",
    domain: Domain = None,
    time_limit: TimeLimit = None,
    engine: EngineName = "local",
    address: Address = None,
    as_json: AsJson = False,
) -> None:
    """Explain the verdict on one label set: its conflict, and the nearest label sets that can be predicted."""
    from labelproof.cli import files
    from labelproof.cli.models import differences, read_model
    from labelproof.explaining.explain import explain as explain_set

    layer, names = read_model(weights, weight_key, bias, label_names)
    if (indices is None) == (set_names is None):
        raise ValueError(
            "one of --set and --set-names must be given, got " + ("neither" if indices is None else "both")
        )
    if indices is not None:
        label_set = files.parse_indices(indices)
    elif names is None:
        raise ValueError("--set-names needs --label-names, got none (the model names no labels)")
    else:
        label_set = files.parse_names(set_names or "", names)
    used: dict[str, Any] = {
        "rule": rule,
        "thresholds": None if thresholds is None else files.read_thresholds(thresholds),
        "domain": files.parse_domain(domain),
    }
    explanation = explain_set(
        layer.weight,
        label_set,
        label_names=names,
        bias=layer.bias,
        **used,
        ties=ties,  # type: ignore[arg-type] # explain says which there are
        time_limit=time_limit,
        engine=connected(engine, address),
    )
    notes = differences(layer, **used)
    if as_json:
        print_json({**explanation.to_dict(), "notes": notes})
        return
    if notes:
        console().print(" ".join(notes), soft_wrap=True)
    console().print(str(explanation))
