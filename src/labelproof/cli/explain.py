"""labelproof explain: why can this label set not be predicted, and what comes near?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from labelproof.cli.console import console, print_json
from labelproof.cli.engine_options import EngineOptions
from labelproof.cli.grouped import grouped
from labelproof.cli.models import GivenReading, LayerOptions, differences
from labelproof.cli.options import AsJson, TimeLimit, Weights

__all__ = ["explain"]


@dataclass(frozen=True)
class Asked:
    """The label set, by index or by name."""

    indices: Annotated[
        str | None, typer.Option("--set", metavar="3,17,20", help="The active labels.", show_default=False)
    ] = None
    set_names: Annotated[str | None, typer.Option(metavar="'A;B'", help="The same by name.", show_default=False)] = None

    def read(self, names: Sequence[str] | None) -> list[int]:
        """Return the active labels, by whichever of the two options they were given."""
        from labelproof.cli.files import parse_indices, parse_names

        if self.indices is not None and self.set_names is None:
            return parse_indices(self.indices)
        if self.indices is not None or self.set_names is None:
            got = "neither" if self.indices is None else "both"
            raise ValueError(f"one of --set and --set-names must be given, got {got}")
        if names is None:
            raise ValueError("--set-names needs --label-names, got none (the model names no labels)")
        return parse_names(self.set_names, names)


@grouped
def explain(
    weights: Weights,
    *,
    asked: Asked,
    layer: LayerOptions,
    reading: GivenReading,
    time_limit: TimeLimit = None,
    engine: EngineOptions,
    as_json: AsJson = False,
) -> None:
    """Explain the verdict on one label set: its conflict, and the nearest label sets that can be predicted."""
    from labelproof.explaining.explain import explain as explain_set

    found, names = layer.read(weights)
    label_set = asked.read(names)
    used = reading.read()
    explanation = explain_set(
        found.weight,
        label_set,
        label_names=names,
        bias=found.bias,
        **used.options(),
        time_limit=time_limit,
        engine=engine.connected(),
    )
    notes = differences(found, used)
    if as_json:
        print_json({**explanation.to_dict(), "notes": notes})
        return
    if notes:
        console().print(" ".join(notes), soft_wrap=True)
    console().print(str(explanation))
