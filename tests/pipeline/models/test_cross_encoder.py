"""Cross-encoders: the scores by hand, where the files come from, and why there may be none."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.errors import ModelError, ModelUnavailable
from pipeline.models import cross_encoder_export, cross_encoder_files
from pipeline.models.base import CrossEncoder, Pulling
from pipeline.models.cross_encoder import OnnxCrossEncoder, fetch_cross_encoder, find_cross_encoder
from pipeline.models.cross_encoder_files import REVISIONS, converted, download, files_in, find_files
from tests.loopback import LoopbackServer
from tests.pipeline.models.tiny_cross_encoder import make_cross_encoder

NAME = "cross-encoder/tiny"
REVISION = "a" * 40
PASSAGES = ["the valves", "open the tank", "crew", "", "open the tank close the valve the crew sleeps"]


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def opened(name: str | Path, **given: Any) -> CrossEncoder:
    """The cross-encoder of a name or folder, which must be there."""
    encoder, choice = find_cross_encoder(str(name), **given)
    assert encoder is not None, choice
    return encoder


class TestScores:
    """The arithmetic, on a network small enough to do by hand."""

    def test_by_hand(self, tmp_path: Path) -> None:
        weights = make_cross_encoder(tmp_path)
        encoder, choice = find_cross_encoder(str(tmp_path))
        assert encoder is not None
        words = [["the", "valve", "##s"], ["open", "the", "tank"], ["crew"], []]
        expected = [weights.logit(["close", "valve"], passage) for passage in words]
        scores = encoder.score("Close valve", PASSAGES[:4])
        np.testing.assert_allclose(scores, expected, rtol=1e-4)
        assert scores.dtype == np.float32
        assert choice.role == "cross-encoder"
        assert choice.provider == "sentence-transformers"

    def test_the_order_and_company_of_passages_do_not_matter(self, tmp_path: Path) -> None:
        make_cross_encoder(tmp_path)
        encoder = opened(tmp_path, threads=2)
        together = encoder.score("valve", PASSAGES)
        alone = [encoder.score("valve", [passage])[0] for passage in PASSAGES]
        np.testing.assert_allclose(together, alone, rtol=1e-5)

    def test_a_long_passage_loses_its_end(self, tmp_path: Path) -> None:
        make_cross_encoder(tmp_path, max_tokens=8)
        encoder = opened(tmp_path)
        # [CLS] valve [SEP] + 4 words + [SEP] are 8 tokens
        scores = encoder.score("valve", ["open the tank close", "open the tank close the crew"])
        assert scores[0] == pytest.approx(scores[1])

    def test_no_passages(self, tmp_path: Path) -> None:
        make_cross_encoder(tmp_path)
        encoder = opened(tmp_path)
        assert encoder.score("valve", []).shape == (0,)

    def test_a_classifier_is_no_cross_encoder(self, tmp_path: Path) -> None:
        make_cross_encoder(tmp_path, labels=3)
        encoder = opened(tmp_path)
        with pytest.raises(ModelError, match=r"gives 3 numbers a pair.*ATHENA_CROSS_ENCODER"):
            encoder.score("valve", ["tank"])


class TestFiles:
    """Where the files come from."""

    def test_the_bundled_one_is_neither_fetched_nor_named_by_its_setting(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cross_encoder_files, "BUNDLED_MODEL", tmp_path / "model-int8.onnx")
        monkeypatch.setattr(cross_encoder_files, "EMBEDDING_FOLDER", tmp_path)
        for look in (find_cross_encoder, fetch_cross_encoder):
            assert look("auto")[1].fix.startswith("Install Athena again")
        make_cross_encoder(tmp_path, file="model-int8.onnx")
        for look in (find_cross_encoder, fetch_cross_encoder):
            encoder, choice = look("auto")
            assert encoder is not None
            assert encoder.score("valve", ["tank"]).shape == (1,)
            assert (choice.name, choice.provider) == ("athena-cross-encoder", "bundled")

    @pytest.mark.parametrize("file", ["model.onnx", "onnx/model.onnx", "onnx/model_other.onnx"])
    def test_a_folder_with_an_onnx_file(self, tmp_path: Path, file: str) -> None:
        make_cross_encoder(tmp_path, file=file, max_tokens=99)
        found = files_in(tmp_path)
        assert found is not None
        assert found.model == tmp_path / file
        assert found.max_tokens == 99

    def test_int8_before_float(self, tmp_path: Path) -> None:
        make_cross_encoder(tmp_path, file="onnx/model.onnx")
        make_cross_encoder(tmp_path, file="onnx/model_int8.onnx")
        found = files_in(tmp_path)
        assert found is not None
        assert found.model.name == "model_int8.onnx"

    def test_no_vnni_no_eight_bits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cross_encoder_files, "_has_vnni", lambda: False)
        monkeypatch.setattr("platform.machine", lambda: "x86_64")
        assert next(cross_encoder_files.preferred_files()) == "onnx/model_quint8_avx2.onnx"
        monkeypatch.setattr("platform.machine", lambda: "arm64")
        assert next(cross_encoder_files.preferred_files()) == "onnx/model_qint8_arm64.onnx"

    def test_lengths_without_configuration(self, tmp_path: Path) -> None:
        make_cross_encoder(tmp_path)
        (tmp_path / "config.json").write_text("broken")
        (tmp_path / "tokenizer_config.json").unlink()
        found = files_in(tmp_path)
        assert found is not None
        assert found.max_tokens == 512

    def test_an_onnx_file_without_a_tokenizer_is_not_enough(self, tmp_path: Path) -> None:
        make_cross_encoder(tmp_path)
        (tmp_path / "tokenizer.json").unlink()
        assert files_in(tmp_path) is None

    def test_a_converted_model_is_used_again(self, tmp_path: Path) -> None:
        folder = tmp_path / "cross-encoders" / "cross-encoder--tiny"
        make_cross_encoder(folder, file="model-int8.onnx")
        (folder / "metadata.json").write_text(json.dumps({"max_tokens": 17}))
        encoder, choice = find_cross_encoder(NAME, model_cache=tmp_path)
        assert encoder is not None
        assert encoder.score("valve", ["tank"]).shape == (1,)
        assert (encoder.name, choice.name) == (NAME, NAME)
        assert find_files(NAME, model_cache=tmp_path).max_tokens == 17

    def test_a_broken_conversion_says_so(self, tmp_path: Path) -> None:
        folder = tmp_path / "cross-encoders" / "cross-encoder--tiny"
        folder.mkdir(parents=True)
        (folder / "metadata.json").write_text("{")
        with pytest.raises(ModelUnavailable, match="Delete that folder"):
            converted(folder)

    def test_a_folders_key_changes_with_its_weights(self, tmp_path: Path) -> None:
        weights = tmp_path / "model.safetensors"
        weights.write_bytes(b"one")
        before = cross_encoder_files._folder_key(tmp_path)
        assert cross_encoder_files._folder_key(tmp_path) == before
        weights.write_bytes(b"other")
        assert cross_encoder_files._folder_key(tmp_path) != before


class TestNone:
    """Why there may be none, and what to do."""

    @pytest.mark.parametrize("name", ["none", ""])
    def test_switched_off(self, name: str) -> None:
        encoder, choice = find_cross_encoder(name)
        assert encoder is None
        assert (choice.provider, choice.detail) == ("none", "switched off (ATHENA_CROSS_ENCODER is none)")

    @pytest.mark.parametrize("name", [NAME, "no such name!", "empty"])
    def test_nowhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        _without_torch(monkeypatch)
        (tmp_path / "empty").mkdir()
        monkeypatch.chdir(tmp_path)
        encoder, choice = fetch_cross_encoder(name, model_cache=tmp_path)
        assert encoder is None
        assert choice.provider == "none"
        assert name in choice.detail and "needs torch" in choice.detail
        assert "pip install 'athena-docs[hf]'" in choice.fix

    def test_looking_for_it_asks_nobody_and_converts_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _with_torch(monkeypatch)
        monkeypatch.setattr(cross_encoder_files, "download", lambda *_, **__: pytest.fail("asked the hub"))
        monkeypatch.setattr(cross_encoder_files, "convert", lambda *_: pytest.fail("converted"))
        encoder, choice = find_cross_encoder(NAME, model_cache=tmp_path)
        assert encoder is None
        assert "is not on disk" in choice.detail
        assert "athena pull cross-encoder" in choice.fix


class TestConversion:
    """What surrounds the conversion; torch itself is stood in for."""

    def test_a_model_that_is_only_weights_is_converted_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made: list[Path] = []

        def convert(name: str, folder: Path) -> None:
            make_cross_encoder(folder, file="model-int8.onnx")
            (folder / "metadata.json").write_text(json.dumps({"max_tokens": 17}))
            made.append(folder)

        monkeypatch.setattr(cross_encoder_export, "_convert", convert)
        _with_torch(monkeypatch)
        for _ in range(2):
            encoder, choice = fetch_cross_encoder(NAME, model_cache=tmp_path)
            assert encoder is not None, choice
            assert encoder.score("valve", ["tank"]).shape == (1,)
        assert len(made) == 1
        assert "int8 ONNX in" in choice.detail
        assert [path.name for path in (tmp_path / "cross-encoders").iterdir() if path.is_dir()] == [
            "cross-encoder--tiny"
        ]

    def test_one_that_fails_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def convert(name: str, folder: Path) -> None:
            (folder / "model.onnx").write_bytes(b"half")
            raise ModelUnavailable("Cannot load it.", "Check the name.")

        monkeypatch.setattr(cross_encoder_export, "_convert", convert)
        _with_torch(monkeypatch)
        encoder, choice = fetch_cross_encoder(NAME, model_cache=tmp_path)
        assert encoder is None
        assert (choice.detail, choice.fix) == ("Cannot load it.", "Check the name.")
        assert not [path for path in (tmp_path / "cross-encoders").iterdir() if path.is_dir()]

    def test_a_network_that_cannot_be_exported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def convert(name: str, folder: Path) -> None:
            raise RuntimeError("unsupported operator\nlong trace")

        monkeypatch.setattr(cross_encoder_export, "_convert", convert)
        with pytest.raises(ModelUnavailable, match=r"Cannot convert .*: unsupported operator Choose another"):
            cross_encoder_export.convert(NAME, tmp_path / "model")

    def test_one_that_makes_nothing_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cross_encoder_export, "_convert", lambda name, folder: None)
        _with_torch(monkeypatch)
        _, choice = fetch_cross_encoder(NAME, model_cache=tmp_path)
        assert "left nothing" in choice.detail

    def test_another_process_may_be_faster(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        target = tmp_path / "model"

        def convert(name: str, folder: Path) -> None:
            target.mkdir()
            (target / "metadata.json").write_text("theirs")
            (folder / "metadata.json").write_text("ours")

        monkeypatch.setattr(cross_encoder_export, "_convert", convert)
        cross_encoder_export.convert(NAME, target)
        assert (target / "metadata.json").read_text() == "theirs"
        assert list(tmp_path.iterdir()) == [target]


class TestHub:
    """The hub, played by a local server."""

    def test_a_published_onnx_file_is_fetched(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        published = tmp_path / "published"
        weights = make_cross_encoder(published, file="onnx/model.onnx")
        with _hub_serving(published) as hub:
            _at(monkeypatch, hub.url, tmp_path / "hub")
            encoder, choice = fetch_cross_encoder(NAME, model_cache=tmp_path / "cache")
            assert encoder is not None, choice
        expected = weights.logit(["valve"], ["tank"])
        np.testing.assert_allclose(encoder.score("valve", ["tank"]), [expected], rtol=1e-4)
        again, _ = find_cross_encoder(NAME, model_cache=tmp_path / "cache")
        assert again is not None

    def test_what_was_fetched_first_is_held_to(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        published = tmp_path / "published"
        make_cross_encoder(published, file="onnx/model.onnx")
        with _hub_serving(published) as hub:
            _at(monkeypatch, hub.url, tmp_path / "hub")
            fetched: list[Pulling] = []
            fetch_cross_encoder(NAME, model_cache=tmp_path / "cache", on_progress=fetched.append)
            found = find_files(NAME, model_cache=tmp_path / "cache")
            found.model.unlink()  # fetched again: at the revision of then
            fetch_cross_encoder(NAME, model_cache=tmp_path / "cache")
        assert fetched[-1].done == fetched[-1].total > 0
        assert [f"/revision/{REVISION}" in path for path in hub.asked] == [False, True]
        assert {path.name for path in found.tokenizer.parent.iterdir()} == {
            "tokenizer.json",
            "tokenizer_config.json",
            "config.json",
            "onnx",
        }

    @pytest.mark.parametrize("file", ["onnx/model.onnx", "tokenizer.json"])
    def test_a_file_that_was_changed_is_not_opened(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
    ) -> None:
        published = tmp_path / "published"
        make_cross_encoder(published, file="onnx/model.onnx")
        with _hub_serving(published) as hub:
            _at(monkeypatch, hub.url, tmp_path / "hub")
            fetch_cross_encoder(NAME, model_cache=tmp_path / "cache")
        path = find_files(NAME, model_cache=tmp_path / "cache").tokenizer.parent / file
        path.write_bytes(path.read_bytes() + b" ")
        encoder = opened(NAME, model_cache=tmp_path / "cache")
        with pytest.raises(ModelUnavailable, match=r"SHA-256 is another.*Delete that folder"):
            encoder.score("valve", ["tank"])

    def test_a_model_that_we_know_is_fetched_at_one_revision(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (name,) = REVISIONS
        (tmp_path / "published").mkdir()
        with _hub_serving(tmp_path / "published") as hub:
            _at(monkeypatch, hub.url, tmp_path / "hub")
            assert not download(name)
        assert f"/revision/{REVISIONS[name]}" in hub.asked[0]

    @pytest.mark.parametrize("file", ["onnx/model.onnx", "tokenizer.json"])
    def test_a_file_that_is_not_what_the_hub_promised_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
    ) -> None:
        published = tmp_path / "published"
        make_cross_encoder(published, file="onnx/model.onnx")
        with _hub_serving(published, lies_about=file) as hub:
            _at(monkeypatch, hub.url, tmp_path / "hub")
            encoder, choice = fetch_cross_encoder(NAME, model_cache=tmp_path / "cache")
        assert encoder is None
        assert "SHA-256" in choice.detail
        assert find_cross_encoder(NAME, model_cache=tmp_path / "cache")[0] is None

    def test_a_model_without_onnx_is_not_fetched(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "published").mkdir()
        (tmp_path / "published" / "model.safetensors").write_bytes(b"x")
        with _hub_serving(tmp_path / "published") as hub:
            _at(monkeypatch, hub.url, tmp_path / "hub")
            assert not download(NAME)

    def test_a_silent_hub_does_not_stall(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cross_encoder_files, "LOOK_UP_S", 0.2)
        _without_torch(monkeypatch)
        with _hub_serving(tmp_path, silent=True) as hub:
            _at(monkeypatch, hub.url, tmp_path / "hub")
            started = time.monotonic()
            _, choice = fetch_cross_encoder(NAME, model_cache=tmp_path)
            assert time.monotonic() - started < 30
        assert "not reachable" in choice.detail

    def test_offline_asks_nobody(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        _without_torch(monkeypatch)
        with _hub_serving(tmp_path) as hub:
            _at(monkeypatch, hub.url, tmp_path / "hub", offline=True)
            assert fetch_cross_encoder(NAME, model_cache=tmp_path)[0] is None
        assert not hub.asked


TORCH = all(importlib.util.find_spec(name) for name in ("torch", "transformers", "onnx"))


@pytest.mark.skipif(not TORCH, reason="converting needs torch, transformers and onnx: the extra [hf]")
def test_conversion_of_a_random_model(tmp_path: Path) -> None:
    """A random BERT with one output, converted for real: the int8 scores follow torch's."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    from tests.pipeline.models.tiny_cross_encoder import WORDS

    source = tmp_path / "source"
    source.mkdir()
    (source / "vocab.txt").write_text("\n".join(WORDS))
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        num_labels=1,
        initializer_range=0.2,  # larger than usual, so that scores differ
    )
    network = BertForSequenceClassification(config).eval()
    network.save_pretrained(source)
    tokenizer = BertTokenizerFast(vocab_file=str(source / "vocab.txt"), model_max_length=64)
    tokenizer.save_pretrained(source)

    encoder, choice = fetch_cross_encoder(str(source), model_cache=tmp_path / "cache")
    assert isinstance(encoder, OnnxCrossEncoder), choice
    scores = encoder.score("close the valve", PASSAGES)
    with torch.no_grad():
        batch = tokenizer(["close the valve"] * len(PASSAGES), PASSAGES, padding=True, return_tensors="pt")
        expected = network(**batch).logits[:, 0].numpy()
    assert np.corrcoef(scores, expected)[0, 1] > 0.98
    assert np.abs(scores - expected).max() < 0.15 * np.ptp(expected)

    folder = next((tmp_path / "cache" / "cross-encoders").iterdir())
    assert {path.name for path in folder.iterdir()} == {"model-int8.onnx", "tokenizer.json", "metadata.json"}
    metadata = json.loads((folder / "metadata.json").read_text())
    assert metadata["max_tokens"] == 64


def _without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


def _with_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())


def _at(monkeypatch: pytest.MonkeyPatch, url: str, folder: Path, *, offline: bool = False) -> None:
    """Let the hub's client talk to a local server and keep its cache in a folder."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}"
    )


class _hub_serving(LoopbackServer):  # noqa: N801 - used as a function
    """A hub with one model, whose files are those of a folder; a silent one never answers."""

    def __init__(self, folder: Path, *, silent: bool = False, lies_about: str = "") -> None:
        leave = self._leave = threading.Event()
        asked = self.asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._file(body=False)

            def do_GET(self) -> None:
                if silent:
                    leave.wait(60)
                elif self.path.startswith("/api/models/"):
                    asked.append(self.path)
                    siblings = [{"rfilename": name, "size": size(name)} for name in files()]
                    self._send(json.dumps({"id": NAME, "sha": REVISION, "siblings": siblings}).encode())
                else:
                    self._file(body=True)

            def _file(self, *, body: bool) -> None:
                name = self.path.split(f"/resolve/{REVISION}/")[-1].split("/resolve/main/")[-1].split("?")[0]
                self._send((folder / name).read_bytes(), body=body, etag=hash_of(name))

            def _send(self, data: bytes, *, body: bool = True, etag: str = "") -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("ETag", f'"{etag}"')
                self.send_header("X-Repo-Commit", REVISION)
                self.end_headers()
                if body:
                    self.wfile.write(data)

        def files() -> list[str]:
            return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]

        def size(name: str) -> int:
            return (folder / name).stat().st_size

        def hash_of(name: str) -> str:
            data = (folder / name).read_bytes() + (b"lie" if name == lies_about else b"")
            if name.endswith(".onnx"):
                return hashlib.sha256(data).hexdigest()
            return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()

        super().__init__(Handler)

    def __exit__(self, *_: object) -> None:
        self._leave.set()
        super().__exit__()
