"""Athena as a program imports it: every block of docs/library.md runs, and what it does not show."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import athena as package
from athena import Athena, AthenaError, load_settings, open_athena
from pipeline.steps.events import TokenArrived
from pipeline.stores.embedded import EmbeddedStore
from tests.fake_llm import FakeLLM

PAGE = Path(__file__).parents[2] / "docs" / "library.md"
FAN = "# Fan\n\nThe cabin fan hums at 4000 rpm. Breaker B7 feeds the cabin fan.\n"
QUESTION = "Which breaker feeds the cabin fan?"


@pytest.fixture(scope="module")
def fan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Athena]:
    folder = tmp_path_factory.mktemp("fan")
    (folder / "fan.md").write_text(FAN)
    with open_athena(load_settings(data_dir=folder / "data", llm="none")) as opened:
        opened.ingest([folder])
        yield opened


@pytest.mark.slow
def test_every_block_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("manual/systems").mkdir(parents=True)
    Path("manual/fan.md").write_text(FAN)
    Path("manual/systems/tank.md").write_text("# Tank\n\nThe tank is cold.\n")
    known: dict[str, Any] = {"__name__": "page"}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 5
    with closing(asyncio.new_event_loop()) as loop:  # LlamaIndex's blocking calls leave one of theirs open
        asyncio.set_event_loop(loop)
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), known)
    printed = capsys.readouterr().out
    assert "mean 'top_k'" in printed
    assert "Breaker B7 feeds the cabin fan. [1]" in printed


def test_each_name_can_be_imported() -> None:
    assert all(getattr(package, name) for names in package._NAMES.values() for name in names)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize("name", ["ATHENA_TOPK", "athena_openai_key"])
def test_a_slip_in_the_environment_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "3")
    with pytest.raises(AthenaError, match=r"mean 'ATHENA_(TOP_K|OPENAI_API_KEY)'\?"):
        load_settings()


def test_what_is_somebody_elses_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("ATHENA_PASSWORD=x\nATHENA_DATABASE=y\nOTHER=z\n")
    assert load_settings().top_k
    Path(".env").write_text("ATHENA_TOPK=3\n")
    with pytest.raises(AthenaError, match="setting ATHENA_TOPK"):
        load_settings()


def test_a_stream_that_is_left_is_stopped_and_kept(fan: Athena) -> None:
    llm = FakeLLM(["Breaker B7 feeds the cabin fan [1]. " * 20], pause_s=0.01, repeat=True)
    with fan.stream(QUESTION, llm=llm) as events:
        next(event for event in events if isinstance(event, TokenArrived))
    with pytest.raises(AthenaError, match="stopped"):
        _ = events.answer
    (newest, *_) = fan.conversations.list()
    assert fan.conversations.get(newest.id).turns[-1].answer.status == "stopped"


def test_a_model_that_fails_raises_from_the_text(fan: Athena) -> None:
    llm = FakeLLM(["Breaker B7 feeds the cabin fan."], fails_after=2, repeat=True)
    stream = fan.stream(QUESTION, llm=llm, private=True)
    with pytest.raises(AthenaError):
        list(stream.texts())


def test_a_cancelled_task_stops_the_answer(fan: Athena) -> None:
    llm = FakeLLM(["Breaker B7 feeds the cabin fan [1]. " * 500], pause_s=0.01, repeat=True)

    async def listen() -> None:
        async for _ in fan.astream(QUESTION, llm=llm, private=True):
            pass

    async def cancelled() -> None:
        asking = asyncio.ensure_future(listen())
        while not llm.messages:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(cancelled())


def test_what_is_no_model_is_refused(fan: Athena) -> None:
    wrong: Any = 3
    with open_athena(fan.settings, llm=wrong) as athena, pytest.raises(AthenaError, match=r"`llm`.*'int'"):
        athena.ask(QUESTION)


def test_closing_releases_the_store_although_something_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    athena = open_athena(load_settings(data_dir=tmp_path))
    closed: list[object] = []

    def broken() -> None:
        raise ZeroDivisionError

    assert athena.store is not None
    with monkeypatch.context() as patch:
        patch.setattr(athena, "finish", broken)
        patch.setattr(EmbeddedStore, "close", lambda store: closed.append(store))
        with pytest.raises(ZeroDivisionError):
            athena.close()
    assert closed == [athena.store]
