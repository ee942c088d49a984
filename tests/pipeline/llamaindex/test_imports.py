"""Athena in a program of LlamaIndex's parts: what the wiring hands out fulfils its contracts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.memory import ChatMemoryBuffer

from athena import Athena, load_settings, open_athena
from tests.fake_llm import FakeLLM

MANUAL = "# Fan\n\nThe cabin fan hums at 4000 rpm. Breaker B7 feeds the cabin fan.\n\n# Tank\n\nIt is cold.\n"
QUESTION = "Which breaker feeds the cabin fan?"


@pytest.fixture(scope="module")
def athena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Athena]:
    folder = tmp_path_factory.mktemp("llama")
    (folder / "manual").mkdir()
    (folder / "manual" / "fan.md").write_text(MANUAL, encoding="utf-8")
    settings = load_settings(data_dir=folder / "data", llm="none", cross_encoder="none")
    opened = open_athena(settings)
    opened.ingest([Path(folder / "manual")])
    yield opened
    opened.close()


def test_its_retriever_goes_into_a_chat_engine_of_llama_indexs(athena: Athena) -> None:
    llm = FakeLLM(["Breaker B7."])
    engine = CondensePlusContextChatEngine.from_defaults(
        retriever=athena.retriever, llm=llm, memory=ChatMemoryBuffer.from_defaults(llm=llm)
    )
    response = engine.chat(QUESTION)
    assert response.response == "Breaker B7."
    assert "Breaker B7 feeds the cabin fan." in llm.prompts[0]
    assert response.source_nodes[0].node.metadata["source"] == "fan.md"
