"""`athena repair`: removes what one server has without the other."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from athena.cli.options import AsJson, DataDir
from athena.cli.running import opened, show

if TYPE_CHECKING:
    from pipeline.stores.server import OrphanReport


def repair(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Remove from MongoDB and Weaviate what one of them has without the other."""
    with opened(data_dir) as athena:
        on_servers = athena.settings.store == "server"
        removed = athena.server_store.remove_orphans() if on_servers else None
    shape = {"repaired": False} if removed is None else {"repaired": not removed.is_clean, **asdict(removed)}
    show(as_json, shape, lambda: repair_text(removed))


def repair_text(removed: OrphanReport | None) -> str:
    """What a repair removed."""
    if removed is None:
        return "Nothing to repair: the embedded store heals itself. ATHENA_STORE=server chooses the servers."
    return "\n".join(f"Removed: {line}" for line in removed.lines()) or "Nothing to repair."
