"""The lexical index mends itself, whatever happens to its folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.stores.base import SearchRequest
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded import documents as documents_module
from pipeline.stores.embedded.lexical import CURRENT, _checksums
from pipeline.stores.embedded.store import LEXICAL_FOLDER
from tests.contracts.documents import ENCODER, MANIFEST, make_document, make_id
from tests.contracts.memories import found_in_files

CONTENT = {"Tank": ["The tank is cold.", "It vents."], "Fan": ["The fan is loud."]}
SOURCES = [f"{number}.md" for number in range(5)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(EmbeddedStore(tmp_path)) as store, store.writing(MANIFEST) as writing:
        for source in SOURCES:
            writing.replace(make_document(source, CONTENT))
    return tmp_path


def change(folder: Path) -> None:
    """Another process replaces one document, deletes one and adds one."""
    with closing(EmbeddedStore(folder)) as store, store.writing(MANIFEST) as writing:
        writing.replace(make_document("0.md", {"Tank": ["Now it is warm."]}))
        writing.delete("1.md")
        writing.replace(make_document("new.md", {"Pump": ["The pump hums."]}))


def search(store: EmbeddedStore, text: str) -> list[tuple[str, float]]:
    response = store.sentences.search(SearchRequest(text, ENCODER.encode_query(text), 100))
    return [(hit.node_id, round(hit.score, 5)) for hit in (*response.bm25_sections, *response.bm25_sentences)]


def assert_sound(store: EmbeddedStore, reference_folder: Path) -> None:
    """The index finds what one does that never had any trouble."""
    reference = EmbeddedStore(reference_folder)
    with reference.writing(MANIFEST) as writing:
        for info in store.sections.documents():
            content = {
                section.metadata["heading_path"][-1]: section.text.split("\n")
                for section in store.sections.document(info.source).sections
            }
            writing.replace(make_document(info.source, content))
    for text in ("tank", "fan loud", "vents", "warm pump", "cold"):
        assert sorted(search(store, text)) == sorted(search(reference, text)), text
    reference.close()


def current(folder: Path) -> dict[str, object]:
    return dict(json.loads((folder / LEXICAL_FOLDER / CURRENT).read_text()))


def remove_everything(folder: Path) -> None:
    shutil.rmtree(folder / LEXICAL_FOLDER)


def put_a_broken_link_in_its_place(folder: Path) -> None:
    remove_everything(folder)
    (folder / LEXICAL_FOLDER).symlink_to("nowhere")


def put_a_file_in_its_place(folder: Path) -> None:
    (folder / LEXICAL_FOLDER).rename(folder / "away")
    (folder / LEXICAL_FOLDER).write_text("in the way")


def remove_current(folder: Path) -> None:
    (folder / LEXICAL_FOLDER / CURRENT).unlink()


def says(**said: object) -> Callable[[Path], None]:
    """What names the index has other words in it."""

    def write(folder: Path) -> None:
        (folder / LEXICAL_FOLDER / CURRENT).write_text(json.dumps({**current(folder), **said}))

    return write


def index_files(folder: Path) -> list[Path]:
    indexes = folder / LEXICAL_FOLDER / str(current(folder)["folder"])
    return sorted(path for path in indexes.rglob("*") if path.is_file() and path.suffix != ".lock")


def remove_a_file(folder: Path) -> None:
    next(path for path in index_files(folder) if path.suffix == ".idx").unlink()


def truncate_files(folder: Path) -> None:
    for path in index_files(folder):
        path.write_bytes(path.read_bytes()[:-7])


def flip_bytes(folder: Path) -> None:
    """The lengths of the nodes, which tantivy takes as they come."""
    for path in index_files(folder):
        if path.suffix == ".fieldnorm":
            content = path.read_bytes()
            path.write_bytes(bytes([content[0] ^ 0x3F]) + content[1:])


def unreadable_with_right_checksums(folder: Path) -> None:
    """As of another version of tantivy."""
    truncate_files(folder)
    says(files=_checksums(folder / LEXICAL_FOLDER / str(current(folder)["folder"])))(folder)


DAMAGES = {
    "removed": remove_everything,
    "a broken link": put_a_broken_link_in_its_place,
    "a file in its place": put_a_file_in_its_place,
    "nothing names it": remove_current,
    "of another format": says(format="0.0"),
    "of another store": says(store="another"),
    "from the future": says(generation=1_000_000),  # as after a power failure that took SQLite's last changes
    "a file removed": remove_a_file,
    "files truncated": truncate_files,
    "bytes flipped": flip_bytes,
    "unreadable": unreadable_with_right_checksums,
}


def add(folder: Path) -> None:
    """Another process adds a document."""
    with closing(EmbeddedStore(folder)) as store, store.writing(MANIFEST) as writing:
        writing.replace(make_document("new.md", {"Pump": ["The pump hums."]}))


@pytest.mark.parametrize("write", [None, change, add], ids=["a reader", "a writer", "one that adds"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_index_is_mended(
    folder: Path, damage: Callable[[Path], None], write: Callable[[Path], None] | None, tmp_path: Path
) -> None:
    damage(folder)
    if write:
        write(folder)
    with closing(EmbeddedStore(folder)) as store:
        assert_sound(store, tmp_path / "reference")


def put_back(folder: Path, old: Path) -> None:
    """The index as it was before another process wrote."""
    shutil.rmtree(folder / LEXICAL_FOLDER)
    shutil.copytree(old, folder / LEXICAL_FOLDER)


def test_an_older_index_is_caught_up_with_what_changed(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / LEXICAL_FOLDER, tmp_path / "old")
    change(folder)
    put_back(folder, tmp_path / "old")
    before = current(folder)["folder"]
    store = EmbeddedStore(folder)
    assert {node_id for node_id, _ in search(store, "pump")} == {
        make_id("new.md", "Pump"),
        make_id(make_id("new.md", "Pump"), 0),
    }
    assert search(store, "warm") and make_id("1.md", "Tank") not in dict(search(store, "tank"))
    assert current(folder)["folder"] == before  # changed where it is, not made anew
    store.close()


def test_an_index_that_is_too_far_behind_is_made_anew(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder / LEXICAL_FOLDER, tmp_path / "old")
    monkeypatch.setattr(documents_module, "KEPT_CHANGES", 1)
    change(folder)
    put_back(folder, tmp_path / "old")
    before = current(folder)["folder"]
    store = EmbeddedStore(folder)
    assert_sound(store, tmp_path / "reference")
    assert current(folder)["folder"] != before
    store.close()


@pytest.fixture
def reader(folder: Path) -> Iterator[EmbeddedStore]:
    store = EmbeddedStore(folder)
    assert search(store, "tank")
    yield store
    store.close()


def test_an_open_reader_follows_another_writer(folder: Path, reader: EmbeddedStore, tmp_path: Path) -> None:
    change(folder)
    response = reader.sentences.search(SearchRequest("pump hums", ENCODER.encode_query("pump hums"), 3))
    assert response.dense_sections[0].node_id == make_id("new.md", "Pump")
    assert_sound(reader, tmp_path / "reference")


def test_while_another_writes_the_older_index_is_searched_without_what_is_gone(
    folder: Path, reader: EmbeddedStore
) -> None:
    writer = EmbeddedStore(folder)
    with writer.writing(MANIFEST) as writing:
        writing.delete("1.md")
        writing.replace(make_document("new.md", {"Pump": ["The pump hums."]}))
        tanks = dict(search(reader, "tank"))
        assert make_id("0.md", "Tank") in tanks and make_id("1.md", "Tank") not in tanks
        assert (
            search(reader, "pump") == []
        )  # its words come with the writer's next commit, its vector is there
        response = reader.sentences.search(SearchRequest("pump hums", ENCODER.encode_query("pump hums"), 3))
        assert response.dense_sections[0].node_id == make_id("new.md", "Pump")
    assert search(reader, "pump")
    writer.close()


def test_a_reader_first_opened_while_another_writes(folder: Path) -> None:
    writer = EmbeddedStore(folder)
    with writer.writing(MANIFEST):
        reader = EmbeddedStore(folder)
        assert search(reader, "tank")
        reader.close()
    writer.close()


def test_no_file_keeps_a_word_of_what_was_deleted_or_replaced(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    with store.writing(MANIFEST) as writing:
        writing.replace(make_document("a.md", {"A": ["The zyzzyva is secret."]}))
        writing.replace(make_document("b.md", {"B": ["The quokka is secret."], "C": ["Stays."]}))
        writing.replace(make_document("c.md", {"C": ["The axolotl stays."]}))
    assert found_in_files(tmp_path, ["zyzzyva"]) and found_in_files(tmp_path, ["quokka"])
    store.delete_document("a.md")
    with store.writing(MANIFEST) as writing:
        writing.replace(make_document("b.md", {"C": ["Stays."]}))
    assert found_in_files(tmp_path, ["zyzzyva"]) == found_in_files(tmp_path, ["quokka"]) == []
    assert found_in_files(tmp_path, ["axolotl"])
    store.close()


def test_a_broken_off_rebuild_does_not_outlive_a_deletion(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    with store.writing(MANIFEST) as writing:
        writing.replace(make_document("a.md", {"A": ["The zyzzyva is secret."]}))
        writing.replace(make_document("b.md", {"B": ["Stays."]}))
    with store.writing(MANIFEST, rebuild=True) as writing:
        writing.replace(make_document("a.md", {"A": ["The zyzzyva is secret."]}))
    store.delete_document("a.md")
    assert found_in_files(tmp_path, ["zyzzyva"]) == []
    store.close()
