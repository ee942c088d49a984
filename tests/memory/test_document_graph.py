"""Documents in the graph: read where the settings name them, again where they change, gone with them."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from athena.cli.answers import answer_text
from memory.recalling.document_graph import read_documents
from memory.recalling.documents import Documents
from memory.user_memory import UserMemory
from tests.memory.conftest import with_preset
from tests.memory.talks import Talk

ANTARCTICA = (
    "# Antarctica\n\nKatabatic winds occur in Antarctica.\n\n## Light\n\nMirages appear in Antarctica, too."
)
WINDS = ["Katabatic winds occurs in Antarctica (places/antarctica.md)"]
MIRAGES = ["Mirages occurs in Antarctica (places/antarctica.md)"]


class Manuals:
    """Documents that a test changes."""

    def __init__(self, **texts: str) -> None:
        self.texts = {f"places/{name}.md": text for name, text in texts.items()}
        self.read: list[str] = []

    @property
    def documents(self) -> Documents:
        def text(source: str) -> str | None:
            self.read.append(source)
            return self.texts.get(source)

        return Documents(
            hashes=lambda: {source: str(hash(text)) for source, text in self.texts.items()}, text=text
        )


@pytest.fixture
def manuals() -> Manuals:
    return Manuals(antarctica=ANTARCTICA, mars="# Mars\n\nDust storms occur on Mars.")


@pytest.fixture
def graphs(mine: UserMemory, manuals: Manuals) -> UserMemory:
    mine = with_preset(mine, "graph")
    options = mine.options.but(memory_documents="places/antarctica.md, places/m*.md")
    return replace(mine, options=options, documents=manuals.documents)


def related(memory: UserMemory, question: str = "What phenomena occur in Antarctica?") -> list[str]:
    _, reading = memory.read(question)
    found = memory.relations_for(question, reading.around)
    return sorted(memory.texts([relation.id for relation in found]).values())


def test_each_document_is_read_once_as_it_is(graphs: UserMemory, manuals: Manuals) -> None:
    told: list[tuple[int, int, str]] = []
    read_documents(graphs, tell=lambda *how_far: told.append(how_far))
    assert told[0][:2] == (0, 2)
    assert told[-1] == (2, 2, "")
    assert related(graphs) == WINDS + MIRAGES
    read_documents(graphs)
    assert manuals.read == ["places/antarctica.md", "places/mars.md"]
    assert graphs.list() == []


def test_what_a_document_no_longer_says_is_not_recalled_and_then_gone(
    graphs: UserMemory, manuals: Manuals
) -> None:
    graphs.add("My sister Clara lives in Antarctica.")
    read_documents(graphs)
    manuals.texts["places/antarctica.md"] = ANTARCTICA.replace("Katabatic winds", "Storms")
    assert not set(WINDS + MIRAGES) & set(related(graphs))
    read_documents(graphs)
    assert related(graphs)[1:] == [*MIRAGES, "Storms occurs in Antarctica (places/antarctica.md)"]
    assert graphs.index.entity_named("Katabatic winds") is None
    del manuals.texts["places/antarctica.md"]
    read_documents(graphs)
    assert not any(relation.source.endswith("antarctica.md") for relation in graphs.index.relations.values())
    assert graphs.index.entity_named("Antarctica")  # Clara lives there


def test_a_stop_keeps_what_was_read_and_the_next_call_goes_on(graphs: UserMemory, manuals: Manuals) -> None:
    read_documents(graphs, should_stop=lambda: bool(manuals.read))
    assert manuals.read == ["places/antarctica.md"]
    read_documents(graphs)
    assert manuals.read == ["places/antarctica.md", "places/mars.md"]


@pytest.mark.parametrize(("preset", "globs"), [("agent", "places/*"), ("graph", ""), ("graph", "other")])
def test_nothing_is_read_that_was_not_named(
    graphs: UserMemory, manuals: Manuals, preset: str, globs: str
) -> None:
    options = graphs.options.but(memory=preset, memory_documents=globs)
    read_documents(replace(graphs, options=options))
    assert manuals.read == []


def test_much_of_one_document_is_left_out(graphs: UserMemory, manuals: Manuals) -> None:
    sections = [f"# Part {number}\n\nPump P{number} feeds tank T{number}." for number in range(200)]
    manuals.texts = {"places/mars.md": "\n\n".join(sections)}
    read_documents(graphs)
    assert len(graphs.index.relations) == 60


def test_what_documents_name_was_not_spoken_of(graphs: UserMemory) -> None:
    from memory.recalling.graph import entity_knowledge, stream

    read_documents(graphs)
    assert graphs.index.mentions
    assert not entity_knowledge(graphs.index)
    assert not stream(graphs.index)


def test_relations_of_documents_stand_beneath_quotes_and_are_none(talk: Talk) -> None:
    sections = talk.store.sections
    documents = Documents(
        hashes=lambda: {info.source: info.hash for info in sections.documents()},
        text=lambda source: sections.document(source).text,
    )
    options = talk.memory.options.but(memory="graph", memory_documents="**")
    talk.memory = replace(talk.memory, options=options, documents=documents)
    read_documents(talk.memory)
    found = talk.chat(preset="graph").answer("What feeds the cabin fan?")
    assert found.mode == "quote"
    assert found.citations
    assert found.recalled == ()
    texts = talk.memory.texts(found.related)
    assert any("feeds" in text for text in texts.values()), texts
    printed = StringIO()
    Console(file=printed, width=200).print(answer_text(found, texts))
    quotes, _, beneath = printed.getvalue().partition("🧠")
    assert "[1]" in quotes
    assert "feeds" in beneath
