"""`athena repair`: nothing is left to repair."""

from __future__ import annotations

from athena.cli.options import AsJson, DataDir
from athena.cli.running import opened, show


def repair(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Do nothing: both stores delete what interrupted ingests left at the next ingest."""
    with opened(data_dir):
        show(as_json, {"repaired": False}, lambda: "Nothing to repair: the next ingest cleans up.")
