"""labelproof verify to a folder of parts: any number of label sets from disk to disk, and on after an interruption."""

import sys
from collections.abc import Sequence
from errno import ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelproof.cli.console import progress_wanted
from labelproof.foundation.wording import plural

if TYPE_CHECKING:
    from labelproof.data.label_matching import MatchedSets
    from labelproof.proof.parts import VerificationParts

__all__ = ["is_folder", "read_sets", "verify_to_folder"]


def is_folder(output: Path | None) -> bool:
    """Return whether results go to a folder of parts: one that is there, or a name without an ending."""
    return output is not None and (output.is_dir() or (not output.suffix and not output.is_file()))


def read_sets(
    labels: str,
    n_labels: int,
    names: Sequence[str] | None,
    part: str | None,
    columns: Sequence[str],
    output: Path | None,
) -> "MatchedSets":
    """Read label sets, into a scratch file beside the output where that is a folder."""
    if output is not None and is_folder(output):
        from labelproof.data.label_spool import label_sets_on_disk

        scratch = output.resolve().parent
        return label_sets_on_disk(labels, n_labels, label_names=names, part=part, columns=columns, scratch=scratch)
    from labelproof.data.label_files import read_label_file

    return read_label_file(labels, label_names=names, n_labels=n_labels, part=part, columns=columns)


def verify_to_folder(output: Path, weight: Any, sets: Any, **options: Any) -> "VerificationParts":
    """Verify part by part; an interruption ends in a sentence that says how to go on."""
    import labelproof

    if there := _parts(output):
        print(f"Going on: {there} there already.", file=sys.stderr)
    try:
        return labelproof.verify_in_parts(weight, sets, output, progress=progress_wanted(), **options)
    except KeyboardInterrupt:
        kept = _parts(output) or "no part is"
        raise KeyboardInterrupt(f"{kept} kept in {output}; run the same command again to continue") from None
    except OSError as error:
        if error.errno != ENOSPC:
            raise
        kept = _parts(output) or "no part is"
        raise OSError(f"no space left for {output}: {kept} kept; run the same command again to continue") from error


def _parts(output: Path) -> str:
    """Say how many parts are there, or nothing."""
    count = len(list(output.glob("part-*.npz")))
    return f"{plural(count, 'part')} {'is' if count == 1 else 'are'}" if count else ""
