"""What nodes share stands in the file once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.database import FILE_NAME
from tests.contracts.documents import MANIFEST
from tests.contracts.tanks import LONG, TEXT, document


def test_names_and_the_description_stand_in_the_file_once(tmp_path: Path) -> None:
    with closing(EmbeddedStore(tmp_path)) as store, store.writing(MANIFEST) as writing:
        writing.replace(document(TEXT))
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        stored = "".join(
            text
            for table in ("document", "node")
            for (text,) in connection.execute(f"SELECT metadata FROM {table}")
        )
    assert stored.count("note " * 49) == 1
    assert stored.count(f"6 {LONG.strip()}") == 1
    assert stored.count("tanks.md") == 1
