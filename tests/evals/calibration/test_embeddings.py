"""Measuring another embedding model: how its vectors are made, and what is printed of it."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from evals.calibration.embeddings import FolderEncoder, examples_with, report
from pipeline.models.onnx import BUNDLED_FOLDER
from tests.fakes import FakeEncoder

WIDTH = 384


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose hidden states depend on the number of the token alone."""
    ramp = np.linspace(0, 1, WIDTH, dtype=np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["input_ids"], ["numbers"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["numbers", "last"], ["column"]),
            helper.make_node("Mul", ["column", "ramp"], ["raised"]),
            helper.make_node("Add", ["raised", "thousand"], ["last_hidden_state"]),
        ],
        "numbers",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "length"])],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["texts", "length", WIDTH])],
        [
            numpy_helper.from_array(np.array([-1]), "last"),
            numpy_helper.from_array(ramp, "ramp"),
            numpy_helper.from_array(np.array([1000], dtype=np.float32), "thousand"),
        ],
    )
    made = tmp_path_factory.mktemp("model")
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=opset), made / "model.onnx")
    shutil.copy(BUNDLED_FOLDER / "tokenizer.json", made)
    return made


def test_the_first_token_or_all_of_them_are_the_vector(folder: Path) -> None:
    first = FolderEncoder(folder, pooling="cls")
    assert np.array_equal(first.encode_query("fan"), first.encode_query("a water pump"))  # [CLS] is the same
    mean = FolderEncoder(folder, pooling="mean")
    assert not np.array_equal(mean.encode_query("fan"), mean.encode_query("a water pump"))
    assert np.linalg.norm(mean.encode_query("fan")) == pytest.approx(1)


def test_what_the_model_wants_stands_before_questions_and_passages(folder: Path) -> None:
    plain, told = FolderEncoder(folder), FolderEncoder(folder, query="query: ", passage="passage: ")
    np.testing.assert_array_equal(told.encode_query("fan"), plain.encode_query("query: fan"))
    np.testing.assert_array_equal(told.encode_passages(["fan"]), plain.encode_passages(["passage: fan"]))


def test_the_vectors_are_the_given_encoders_and_both_tables_are_printed(tmp_path: Path) -> None:
    corpus, questions = tmp_path / "corpus", tmp_path / "questions"
    corpus.mkdir()
    questions.mkdir()
    (corpus / "fan.md").write_text(
        "# Fan\n\nThe fan turns at 4000 rpm.\n\n# Pump\n\nThe pump has 3 bar.\n", "utf-8"
    )
    asked = {"q2": ("How fast is the fan?", "4000 rpm"), "q3": ("How much has the pump?", "3 bar")}
    lines = [json.dumps({"_id": name, "text": text, "answer": fact}) for name, (text, fact) in asked.items()]
    (questions / "queries.jsonl").write_text("\n".join(lines), "utf-8")
    encoder = FakeEncoder(dimensions=384)
    with ExitStack() as stack:
        examples = examples_with(encoder, [(questions, corpus)], folder=tmp_path / "index", stack=stack)
        printed = list(report(examples))
    assert any("4000 rpm" in text for text in encoder.texts)
    assert f"| {questions} | 2 | 1.000 | 1.000 | 1.000 |" in printed
    weights = [line.split(" | ")[0] for line in printed if line.startswith(("| as ", "| other"))]
    assert weights == ["| as shipped", "| other questions"]
