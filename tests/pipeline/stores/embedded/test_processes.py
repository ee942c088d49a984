"""Several processes at one store: one writer, any number of readers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.errors import StoreError
from pipeline.stores.embedded import EmbeddedStore
from tests.contracts.documents import MANIFEST, make_document

WRITE = """
import sys
from pathlib import Path
from pipeline.stores.embedded import EmbeddedStore
from tests.contracts.documents import MANIFEST, make_document
store = EmbeddedStore(Path(sys.argv[1]))
for round in range(1, 13):
    with store.writing(MANIFEST) as writing:
        for number in range(8):
            writing.replace(make_document(f"{number}.md", {
                "Version": [f"Marker round{round} of all."] * 3, f"Own {round}": ["Something else."]}))
        if round % 3 == 0:
            writing.delete("7.md")
store.close()
"""

READ = """
import sys, time
from pathlib import Path
from pipeline.errors import UnknownDocument
from pipeline.stores.base import SearchRequest
from pipeline.stores.embedded import EmbeddedStore
from tests.contracts.documents import ENCODER
store = EmbeddedStore(Path(sys.argv[1]))
vector = ENCODER.encode_query("Manual > Version: Marker round of all.")
newest = searches = 0
while newest < 12:
    response = store.sentences.search(SearchRequest("marker round", vector, 100))
    dense = {hit.node_id for hit in response.dense_sections}
    assert len(dense) == len(response.dense_sections) and len(dense) % 2 == 0, "half a document"
    assert len(response.dense_sentences) == 2 * len(dense), "half a document"
    assert {hit.node_id for hit in response.bm25_sections} <= dense, "words of what is gone"
    for info in store.sections.documents():
        try:
            version, own = store.sections.document(info.source).sections
        except UnknownDocument:
            continue  # deleted since it was listed
        round = int(own.metadata["heading_path"][-1].removeprefix("Own "))
        assert version.text.count(f"round{round} ") == 3, "two versions mixed"
        newest = max(newest, round)
    searches += 1
for _ in range(200):
    found = store.sentences.search(SearchRequest("round12", vector, 100)).bm25_sections
    if len(found) == 7:
        break
    time.sleep(0.05)
assert len(found) == 7, found
print(searches)
store.close()
"""

HOLD = """
import sys, time
from pathlib import Path
from pipeline.stores.embedded import EmbeddedStore
from tests.contracts.documents import MANIFEST, make_document
store = EmbeddedStore(Path(sys.argv[1]))
with store.writing(MANIFEST) as writing:
    writing.replace(make_document("held.md", {"Held": ["Held."]}))
    print("writing", flush=True)
    sys.stdin.read()
store.close()
"""


def start(script: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.slow
def test_two_readers_and_a_writer_at_once(tmp_path: Path) -> None:
    readers = [start(READ, tmp_path) for _ in range(2)]
    writer = start(WRITE, tmp_path)
    assert (writer.communicate(timeout=120)[1], writer.returncode) == ("", 0)
    for reader in readers:
        output, errors = reader.communicate(timeout=120)
        assert (errors, reader.returncode) == ("", 0)
        assert int(output) > 0


@pytest.mark.slow
def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    holder = start(HOLD, tmp_path)
    assert holder.stdout and holder.stdout.readline() == "writing\n"
    store = EmbeddedStore(tmp_path, lock_wait_s=0.1)
    with pytest.raises(StoreError, match=rf"pid {holder.pid}\).*Wait until"), store.writing(MANIFEST):
        pass
    with pytest.raises(StoreError, match=str(holder.pid)):
        store.delete_document("held.md")
    holder.kill()
    holder.communicate()
    with store.writing(MANIFEST):  # a lock dies with its process
        pass
    assert [info.source for info in store.sections.documents()] == ["held.md"]
    store.close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = EmbeddedStore(tmp_path)

    def refuse(*args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    with store.writing(MANIFEST) as writing:
        writing.replace(make_document("a.md", {"A": ["Alpha."]}))
    monkeypatch.setattr(os, "open", refuse)
    with (
        pytest.raises(StoreError, match=r"Cannot write.*Permission denied.*--data-dir"),
        store.writing(MANIFEST),
    ):
        pass
    assert store.sections.documents()
    monkeypatch.undo()
    store.close()
