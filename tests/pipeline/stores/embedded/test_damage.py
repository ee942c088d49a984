"""What a broken disk can do: found, mended where it can be, told where not."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from pipeline.stores.embedded.cases import EmbeddedCases
from tests.contracts.test_cases import case

from athena.diagnosis import diagnose
from pipeline.errors import AthenaError, MemoriesChanged, StoreDamaged, StoreError
from pipeline.ingesting.embedded_texts import embed_nodes
from pipeline.notices import NOTICES
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.damage import salvage
from pipeline.stores.embedded.database import FILE_NAME
from pipeline.stores.embedded.lexical import CURRENT
from pipeline.stores.embedded.memories import EmbeddedMemories
from pipeline.stores.embedded.store import LEXICAL_FOLDER
from pipeline.stores.embedded.tantivy_index import LexicalDamaged, readable, search_index
from pipeline.stores.memories import Entity, MemoryChanges, MemoryEvent, MemorySource, Mention, Relation
from tests.contracts.memories import memory
from tests.contracts.test_conversations import answer
from tests.pipeline.ingest_runs import contents, findings, manifest_of, run_ingest
from tests.pipeline.searching import ENCODER, FILES, make_store
from tests.pipeline.stores.embedded.damage import QUESTIONS as ASKED
from tests.pipeline.stores.embedded.damage import damaged, open_data, prepare, searched

pytestmark = pytest.mark.slow

QUESTIONS = ["broken fan", "LN2 tank OFFLINE", "antenna"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a store with the small manual."""
    make_store(tmp_path).close()
    return tmp_path / "store"


def open_store(folder: Path, *, embeds: bool = True) -> EmbeddedStore:
    embed = partial(embed_nodes, encoder=ENCODER) if embeds else None
    return EmbeddedStore(folder, manifest=manifest_of(ENCODER), embed=embed)


def sql(folder: Path, statement: str, *given: object) -> None:
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection, connection:
        connection.execute(statement, given)


def lose_page(folder: Path, table: str, *, right_most_leaf: bool = False) -> None:
    """Zeros in the place of the first page of a table, or of its last leaf."""
    sql(folder, "VACUUM")
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    content = bytearray((folder / FILE_NAME).read_bytes())
    if right_most_leaf:
        page = int.from_bytes(content[(page - 1) * 4096 + 8 : (page - 1) * 4096 + 12], "big")
    content[(page - 1) * 4096 : page * 4096] = bytes(4096)
    (folder / FILE_NAME).write_bytes(content)


@pytest.fixture
def told() -> Iterator[list[str]]:
    """The notices that a user sees."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger(NOTICES).addHandler(handler)
    yield lines
    logging.getLogger(NOTICES).removeHandler(handler)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[object]]:
    """A folder to damage copies of, and what is found in it as it is."""
    folder = tmp_path_factory.mktemp("damage")
    prepare(folder)
    return folder, [searched(folder, question) for question in ASKED]


@pytest.mark.parametrize("number", range(int(os.environ.get("ATHENA_TEST_DAMAGES", "12"))))
def test_folders_damaged_at_random(number: int, prepared: tuple[Path, list[object]]) -> None:
    assert not damaged(number, *prepared)


# -- vectors ------------------------------------------------------------------------------------------

VECTOR_DAMAGES = [
    "UPDATE embedding SET vectors = substr(vectors, 1, length(vectors) - 32) WHERE section % 2 = 0",
    "UPDATE embedding SET vectors = zeroblob(length(vectors)) WHERE section % 3 = 0",
    "UPDATE embedding SET vectors = 'text'",
    "UPDATE embedding SET vectors = ''",
    "UPDATE embedding SET first_sentence = first_sentence + 1",
    "UPDATE embedding SET checksum = NULL",
    "DELETE FROM embedding",
]


@pytest.mark.parametrize("damage", VECTOR_DAMAGES)
def test_damaged_vectors_are_embedded_again_and_that_is_said(
    folder: Path, damage: str, told: list[str]
) -> None:
    with closing(open_store(folder)) as store:
        before, found = contents(store), findings(store, ENCODER, QUESTIONS)
    sql(folder, damage)
    with closing(open_store(folder)) as store:
        assert store.examine().vectors > 0
        assert store.examine().text_is_sound
        assert findings(store, ENCODER, QUESTIONS) == found
        assert store.examine().vectors == 0
        assert contents(store) == before
    (line,) = told
    assert "were damaged: embedded again from the text." in line


def test_pages_of_vectors_that_are_lost_are_named_and_made_again_by_a_salvage(
    folder: Path, tmp_path: Path
) -> None:
    with closing(open_store(folder)) as store:
        before = contents(store)
    lose_page(folder, "embedding")
    with closing(open_store(folder)) as store:
        with pytest.raises(StoreDamaged, match="--salvage"):
            findings(store, ENCODER, QUESTIONS)
        assert store.examine().problems
    saved = salvage(folder, tmp_path / "saved")
    assert (saved.documents, saved.lost) == (3, ())
    with closing(open_store(tmp_path / "saved")) as store:
        assert contents(store) == before
        found_again = store.examine()
        assert (found_again.problems, found_again.vectors) == ((), 0)


def test_a_writer_at_work_is_not_waited_for_to_search(folder: Path, told: list[str]) -> None:
    with closing(open_store(folder)) as store:
        found = findings(store, ENCODER, QUESTIONS)
    sql(folder, "DELETE FROM embedding")
    with closing(open_store(folder)) as writer, closing(open_store(folder)) as store:
        with writer.writing(manifest_of(ENCODER)):
            assert findings(store, ENCODER, QUESTIONS) == found
        assert store.examine().vectors > 0
    assert "not stored, as nothing can be written there now" in told[0]


def test_without_an_embedding_model_damaged_vectors_are_an_error(folder: Path) -> None:
    sql(folder, VECTOR_DAMAGES[0])
    with closing(open_store(folder, embeds=False)) as store, pytest.raises(StoreDamaged, match="vectors of"):
        findings(store, ENCODER, QUESTIONS)


# -- words --------------------------------------------------------------------------------------------

POINTERS = [
    '{"format": 3}', "[]", "null", "[" * 100_000, '{"a": ' * 50_000, "\x00" * 50, "",
    '{"format": 1, "store": 2, "build": "x", "generation": "y", "removed": [], "folder": {}, "files": 5}',
]  # fmt: skip


def test_a_damaged_pointer_of_the_lexical_index_is_made_again_and_that_is_said(
    folder: Path, told: list[str]
) -> None:
    with closing(open_store(folder)) as store:
        found = findings(store, ENCODER, QUESTIONS)
    pointer = folder / LEXICAL_FOLDER / CURRENT
    for content in (*POINTERS, pointer.read_text().replace('"folder": "', '"folder": "../../')):
        pointer.write_text(content)
        with closing(open_store(folder)) as store:
            assert findings(store, ENCODER, QUESTIONS) == found, content[:99]
        assert told == ["The index of words was damaged: rebuilt from the text."]
        assert '"../../' not in pointer.read_text()
        told.clear()


# -- text ---------------------------------------------------------------------------------------------

TEXT_DAMAGES = [
    "UPDATE section SET text = replace(text, 'fan', 'fun')",
    "UPDATE section SET metadata = '{' WHERE number = (SELECT min(number) FROM section)",
    "UPDATE section SET metadata = NULL",
    "UPDATE sentence SET text = CAST(text AS BLOB)",
    "UPDATE sentence SET start = 'x', end = 1e300",
    "UPDATE sentence SET id = CAST(id AS BLOB)",
    "UPDATE document SET title = 5",
    "UPDATE document SET text = CAST(x'ff' AS TEXT)",
    "UPDATE document SET sections = 9223372036854775807",
    "DELETE FROM sentence WHERE number % 2",
    "UPDATE state SET generation = 'x'",
    "UPDATE state SET visible = 77",
    "DELETE FROM state",
    "UPDATE manifest SET dimensions = 'x'",
    "DROP TABLE sentence",
]


@pytest.mark.parametrize("damage", TEXT_DAMAGES)
def test_a_damaged_text_is_an_error_that_says_what_to_do_and_never_a_traceback(
    folder: Path, damage: str
) -> None:
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'"
        )
    sql(folder, damage)
    failures = [error for error in tried(folder) if error]
    assert failures
    assert all(isinstance(error, StoreError) and error.fix for error in failures)
    assert any(isinstance(error, StoreDamaged) and "--salvage" in error.fix for error in failures)


def tried(folder: Path) -> Iterator[StoreError | None]:
    """What each use of a store raises."""
    uses: list[Callable[[EmbeddedStore], object]] = [
        lambda store: [store.sections.document(info.source) for info in store.sections.documents()],
        lambda store: findings(store, ENCODER, QUESTIONS),
        lambda store: store.sentences.vocabulary(),
        lambda store: run_ingest(store, folder.parent / "manual", encoder=ENCODER),
        _raise_what_is_found,
    ]
    for use in uses:
        try:
            with closing(open_store(folder)) as store:
                use(store)
        except StoreError as error:
            yield error
        else:
            yield None


def _raise_what_is_found(store: EmbeddedStore) -> None:
    found = store.examine()
    if not found.text_is_sound:
        raise StoreDamaged(str(found), "athena doctor --salvage")


def test_a_row_is_compared_when_a_process_first_reads_it_in_a_generation(folder: Path) -> None:
    with closing(open_store(folder)) as store:
        text = store.sections.document("comms.md")
        sql(folder, "UPDATE section SET text = 'other'")
        assert store.sections.document("comms.md") == text
        with pytest.raises(StoreDamaged):
            store.sections.document("systems/ecs.md")
        sql(folder, "UPDATE state SET generation = generation + 1")
        with pytest.raises(StoreDamaged):
            store.sections.document("comms.md")


@pytest.mark.parametrize(
    "damage",
    ["answer = '{'", "answer = '[]'", "answer = CAST('{}' AS BLOB)", "created_at = 'x'", "feedback = 3"],
)
def test_a_damaged_turn_is_an_error_of_its_conversation(tmp_path: Path, damage: str) -> None:
    path = tmp_path / FILE_NAME
    with closing(EmbeddedConversations(path)) as conversations:
        good, bad = conversations.create("good").info.id, conversations.create("bad").info.id
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            connection.execute(
                "INSERT INTO turn (id, conversation_id, question, answer, created_at) "
                "VALUES ('t', ?, 'Why?', '{}', 1)",
                (bad,),
            )
            connection.execute(f"UPDATE turn SET {damage}")
        assert conversations.get(good).info.title == "good"
        with pytest.raises(StoreDamaged, match="--salvage"):
            conversations.get(bad)


@pytest.mark.parametrize(
    ("damage", "left_out"),
    [
        ("row = replace(row, 'rattles', 'hums, too') WHERE id = 'bad'", "bad"),
        ("row = CAST(row AS BLOB) WHERE id = 'bad'", "bad"),
        ("row = CAST(x'ff41' AS TEXT) WHERE id = 'bad'", "bad"),
        ("row = json_set(row, '$.sources[0].start', 1) WHERE id = 'bad'", "bad"),
        ("named = '[' WHERE id = 'bad'", "bad"),
        ("live = 'x' WHERE id = 'bad'", "bad"),
        ("row = json_set(row, '$.name', 'pump') WHERE kind = 'entity'", "e"),
        ("row = json_set(row, '$.at', 2.0) WHERE kind = 'mention'", "m"),
        ("row = json_set(row, '$.label', 'feeds') WHERE kind = 'relation'", "r"),
    ],
)
def test_a_damaged_memory_is_left_out_and_what_is_whole_is_saved(
    tmp_path: Path, told: list[str], damage: str, left_out: str
) -> None:
    with closing(open_data(tmp_path)) as athena:
        rows = memory("It hums.", id="good"), memory("It rattles.", id="bad", sources=(MemorySource(end=2),))
        events = [MemoryEvent(id=row.id, user="ann", memory_id=row.id, action="ADD", at=1.0) for row in rows]
        changes = MemoryChanges(
            memories=rows,
            entities=(Entity(id="e", user="ann", name="fan"),),
            mentions=(Mention(id="m", user="ann", entity_id="e", at=1.0),),
            relations=(Relation(id="r", user="ann", subject_id="e", label="in", object_id="e", at=1.0),),
            events=tuple(events),
        )
        athena.memories.apply("ann", changes)
        assert athena.memories.load("ann").damaged == ()
        sql(tmp_path / "data", f"UPDATE memory SET {damage}")
        loaded = athena.memories.load("ann")
        assert loaded.damaged == (left_out,)
        assert told == ["Left out of the memories of 'ann': 1 damaged row. Run `athena doctor`."]
        kept = {row.id for row in (*loaded.memories, *loaded.entities, *loaded.mentions, *loaded.relations)}
        assert kept == {"good", "bad", "e", "m", "r"} - {left_out}
        assert [event.action for event in athena.memories.events("ann")] == ["ADD", "ADD"]
    saved = salvage(tmp_path / "data", tmp_path / "saved" / "data")
    assert saved.memories == 2 - (left_out == "bad")
    with closing(open_data(tmp_path / "saved")) as athena:
        assert athena.memories.load("ann").damaged == ()
        assert "good" in {row.id for row in athena.memories.load("ann").memories}


def test_a_damaged_memory_is_in_nobodys_way_and_can_be_forgotten(tmp_path: Path) -> None:
    prepare(tmp_path)
    with closing(open_data(tmp_path)) as athena:
        bad, good = (
            athena.memory.add(text).data["added"][0] for text in ("The fan hums.", "Clara plays the cello.")
        )
        assert diagnose(athena).ok
    sql(tmp_path / "data", f"UPDATE memory SET row = replace(row, 'hums', 'sings') WHERE id = '{bad}'")
    with closing(open_data(tmp_path)) as athena:
        assert [item.id for item in athena.memory.list()] == [good]
        assert [item.memory.id for item in athena.memory.search("cello")] == [good]
        [check] = [check for check in diagnose(athena).checks if check.name == "memories"]
        assert (check.ok, check.detail) == (False, f"damaged, and left out: {bad} of local")
        assert "memory forget" in check.fix
        with pytest.raises(AthenaError, match="damaged"):
            athena.memory.get(bad)
        (tmp_path / "manual" / "new.md").write_text("# New\n\nIt is new.\n")
        assert athena.ingest([tmp_path / "manual"]).added == ["new.md"]
        athena.memory.forget(athena.memory.forgetting([bad]))
        assert diagnose(athena).ok
        assert [item.id for item in athena.memory.list()] == [good]


@pytest.mark.parametrize(
    "damage",
    [
        "replace(row, 'hums', 'sings')",
        "CAST(x'ff4142434445' AS TEXT)",
        "CAST('It sings.' AS BLOB)",
        "json_set(row, '$.sources[0].start', 1)",
    ],
)
def test_the_text_of_a_damaged_memory_is_told_from_somebody_elses_work(tmp_path: Path, damage: str) -> None:
    with closing(EmbeddedMemories(tmp_path / FILE_NAME)) as memories:
        sources = (MemorySource(end=2),)
        memories.apply("ann", MemoryChanges(memories=(memory("It hums.", id="bad", sources=sources),)))
        again = MemoryChanges(memories=(memory("It hums.", id="new"),))
        with pytest.raises(MemoriesChanged):
            memories.apply("ann", again)
        sql(tmp_path, f"UPDATE memory SET row = {damage}")
        with pytest.raises(StoreDamaged, match="'bad'") as error:
            memories.apply("ann", again)
        assert "athena memory forget bad --yes --user ann" in error.value.fix
        assert memories.load("ann").damaged == ("bad",)
        memories.forget("ann", MemoryChanges(removed=("bad",)), words=["It rattles."])
        assert memories.users() == []
        memories.apply("ann", again)
        assert [row.id for row in memories.load("ann").memories] == ["new"]


def test_a_damaged_embedding_is_made_again(tmp_path: Path) -> None:
    with closing(open_data(tmp_path)) as athena:
        (known,) = athena.memory.add("The fan hums.").data["added"]
    sql(tmp_path / "data", "UPDATE memory SET embedding = x'00'")
    with closing(open_data(tmp_path)) as athena:
        assert athena.memories.load("local").memories[0].embedding == b""
        assert [item.memory.id for item in athena.memory.search("the fan")] == [known]
        assert athena.memories.load("local").memories[0].embedding


def test_a_conversation_that_is_deleted_leaves_sound_memories(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with closing(EmbeddedConversations(path)) as conversations, closing(EmbeddedMemories(path)) as memories:
        conversation = conversations.create(user="ann").info.id
        turn = conversations.save_turn(conversation, answer())
        rows = (
            memory("It hums.", id="good", sources=(MemorySource(turn_id=turn, quote="Why"),)),
            memory("It rattles.", id="bad", sources=(MemorySource(turn_id=turn, quote="So"),)),
        )
        mention = Mention(id="m", user="ann", entity_id="e", at=1.0, turn_id=turn)
        memories.apply("ann", MemoryChanges(memories=rows, mentions=(mention,)))
        sql(tmp_path, "UPDATE memory SET row = replace(row, 'So', 'No') WHERE id = 'bad'")
        conversations.delete(conversation)
        loaded = memories.load("ann")
    assert loaded.damaged == ("bad",)
    assert loaded.memories[0].sources[0].turn_id == loaded.mentions[0].turn_id == ""


# -- salvage ------------------------------------------------------------------------------------------


def test_what_is_whole_is_saved_and_an_ingest_restores_the_rest(folder: Path, tmp_path: Path) -> None:
    with closing(open_store(folder)) as store:
        before = contents(store)
    with closing(EmbeddedConversations(folder / FILE_NAME)) as conversations:
        conversations.create("kept")
    (folder / "mission").mkdir()
    (folder / "mission" / "game.json").write_text("{}")
    sql(folder, "UPDATE sentence SET text = 'other' WHERE document = "
                "(SELECT number FROM document WHERE source = 'comms.md')")  # fmt: skip
    sql(folder, "DELETE FROM embedding")
    saved = salvage(folder, tmp_path / "saved")
    assert (saved.documents, saved.conversations, saved.lost) == (2, 1, ("comms.md",))
    assert (tmp_path / "saved" / "mission" / "game.json").exists()
    with closing(open_store(tmp_path / "saved")) as store:
        assert store.examine().text_is_sound
        report = run_ingest(store, tmp_path / "manual", encoder=ENCODER)
        assert (report.added, len(report.unchanged)) == (["comms.md"], 2)
        assert contents(store) == before


@pytest.mark.parametrize("damage", ["'['", "'{}'", "'[1]'", "x'ff'"])
def test_a_conversation_whose_scope_is_damaged_is_saved_without_it(folder: Path, damage: str) -> None:
    with closing(EmbeddedConversations(folder / FILE_NAME)) as conversations:
        good, bad = (conversations.create(name).info.id for name in ("good", "bad"))
        for id_ in (good, bad):
            conversations.set_scope(id_, ["fan.md"])
        conversations.save_turn(bad, answer())
    sql(folder, f"UPDATE conversation SET scope = {damage} WHERE id = '{bad}'")
    saved = salvage(folder, folder.parent / "saved")
    assert (saved.conversations, saved.turns) == (2, 1)
    with closing(EmbeddedConversations(folder.parent / "saved" / FILE_NAME)) as conversations:
        assert {info.id: info.scope for info in conversations.list()} == {good: ("fan.md",), bad: ()}


def test_rows_around_a_lost_page_are_saved(folder: Path, tmp_path: Path) -> None:
    with closing(EmbeddedConversations(folder / FILE_NAME)) as conversations:
        ids = {conversations.create(f"{number} {'x' * 200}").info.id for number in range(200)}
    lose_page(folder, "conversation", right_most_leaf=True)
    saved = salvage(folder, tmp_path / "saved")
    assert 150 < saved.conversations < 200
    assert saved.documents == len(FILES)
    with closing(EmbeddedConversations(tmp_path / "saved" / FILE_NAME)) as conversations:
        assert {info.id for info in conversations.list()} < ids


def test_cases_are_saved_but_for_those_that_cannot_be_read(folder: Path, tmp_path: Path) -> None:
    with closing(EmbeddedCases(folder / FILE_NAME)) as cases:
        cases.put(case("whole"), case("torn"))
    sql(folder, "UPDATE eval_case SET row = substr(row, 2) WHERE id = 'torn'")
    with closing(EmbeddedCases(folder / FILE_NAME)) as cases, pytest.raises(StoreDamaged):
        cases.list()
    salvage(folder, tmp_path / "saved")
    with closing(EmbeddedCases(tmp_path / "saved" / FILE_NAME)) as cases:
        assert cases.list() == [case("whole")]


def test_nothing_is_written_over_by_a_salvage(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist yet"):
        salvage(folder, tmp_path)
    with pytest.raises(StoreError, match="no store"):
        salvage(tmp_path, tmp_path / "saved")


def test_a_file_that_is_no_database_any_more_cannot_be_saved(folder: Path, tmp_path: Path) -> None:
    (folder / FILE_NAME).write_bytes(b"\0" * 100_000)
    with pytest.raises(StoreDamaged):
        salvage(folder, tmp_path / "saved")


# -- while it is in use --------------------------------------------------------------------------------


def test_words_that_were_damaged_since_they_were_opened_are_looked_at_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_store(folder)) as store:
        found = findings(store, ENCODER, QUESTIONS)
        failures = [LexicalDamaged("It panicked.", "Search again.")]

        def search(*given: object, **named: object) -> object:
            if failures:
                raise failures.pop()
            return search_index(*given, **named)  # type: ignore[arg-type]

        monkeypatch.setattr("pipeline.stores.embedded.lexical.search_index", search)
        assert findings(store, ENCODER, QUESTIONS) == found
        failures += [LexicalDamaged("It panicked.", "Search again.")] * 2
        with pytest.raises(StoreDamaged, match="panicked"):
            findings(store, ENCODER, QUESTIONS)


def test_a_panic_of_tantivy_is_an_error_of_ours() -> None:
    class PanicException(BaseException):
        pass

    with pytest.raises(LexicalDamaged, match="out of bounds"), readable():
        raise PanicException("out of bounds")
    with pytest.raises(KeyboardInterrupt), readable():
        raise KeyboardInterrupt
