"""labelproof explore: try label combinations of a trained model on a local page."""

from dataclasses import dataclass
from typing import Annotated

import typer

from labelproof.cli.explore_inputs import Sources, known_of
from labelproof.cli.grouped import grouped
from labelproof.cli.models import FoundReading, LayerOptions, ModelFile, SetOptions

__all__ = ["explore"]


@dataclass(frozen=True)
class Serving:
    """Where the page is."""

    host: Annotated[
        str, typer.Option(help="Address to serve on; other addresses than the default let others connect.")
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve on; 0 chooses a free one.")] = 0
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False


@grouped
def explore(
    model: ModelFile,
    sources: Sources,
    sets: SetOptions,
    layer: LayerOptions,
    reading: FoundReading,
    serving: Serving,
) -> None:
    """Try label combinations on a local page: can the model predict them, and if not, why?

    The page is served on this machine until Ctrl-C.
    """
    from labelproof.explorer import serve

    sources.check()
    found, names = layer.read(model, data=sources.data or sources.labels)
    known = known_of(model, found, names, sources, sets)
    serve(
        found,
        label_names=known.names,
        label_sets=known.label_sets,
        inputs=known.inputs,
        bar=known.bar,
        **reading.read().options(),
        host=serving.host,
        port=serving.port,
        open_browser=not serving.no_browser,
    )
