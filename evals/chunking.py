"""Indexes for experiments, in a cache of their own: a folder of Markdown cut one way, for one model.

Sections with their sentences are what Athena makes. Chunks of `evals/tokens.py` go the same way, each as a
section with itself as its only leaf; they know no headings, as their splitters know none.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import platformdirs
from llama_index.core.schema import Document

from athena.assistant import Athena
from athena.models import Models
from athena.reading import MEGABYTE, make_cutter, make_reader
from athena.settings import Settings
from evals.indexing import Report
from evals.tokens import FixedTokenParser, RecursiveTokenParser
from pipeline.errors import ConfigurationError, StoreError
from pipeline.ingest import Progress, ingest
from pipeline.stores.base import Manifest
from readers.blocks import Block, Kind
from readers.corpus import MarkdownCorpus
from readers.levels import Section, Sentence, build_sentences, document_id, section_id

if TYPE_CHECKING:
    from pipeline.models.base import CrossEncoder, Encoder, ModelChoice, Scores

SENTENCES = "sentences"
CHUNKS = re.compile(r"(fixed|recursive) (\d{1,6})/(\d{1,6})")  # chunk and overlap, in tokens
PARSERS = {"fixed": FixedTokenParser, "recursive": RecursiveTokenParser}
APART = {"store": "embedded", "neo4j_url": "", "phoenix_url": ""}
"""Settings of whatever is indexed or asked here: nobody's servers are touched."""
UNUSED_S = 7 * 86_400.0


def check_splitter(name: str) -> None:
    """Raise `ConfigurationError` where a splitter's name is none."""
    found = CHUNKS.fullmatch(name)
    if name != SENTENCES and not (found and int(found[3]) < int(found[2])):
        raise ConfigurationError(
            f"There is no splitter '{name:.80}'.",
            f"Write '{SENTENCES}', or 'fixed 256/50' or 'recursive 512/50': a chunk's tokens, its overlap.",
        )


def folder_hash(folders: Iterable[tuple[Path, Sequence[str]]]) -> str:
    """A hash of the files of folders that match their globs: of their paths below these, and their bytes."""
    whole = hashlib.sha256()
    for folder, globs in folders:
        for path in sorted({path for glob in globs for path in folder.glob(glob) if path.is_file()}):
            whole.update(path.relative_to(folder).as_posix().encode() + b"\0")
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


class ChunkCorpus(MarkdownCorpus):
    """Files cut into chunks of so many tokens instead of sections and sentences."""

    def __init__(self, splitter: str, encoder: Encoder, *, max_bytes: int) -> None:
        super().__init__(partial(make_cutter, encoder), max_bytes=max_bytes)
        check_splitter(splitter)
        strategy, sizes = splitter.split()
        chunk, overlap = map(int, sizes.split("/"))
        self._parser = PARSERS[strategy](
            count_tokens=encoder.count_tokens, chunk_tokens=chunk, overlap_tokens=overlap
        )

    def cut(
        self,
        text: str,
        *,
        source: str,
        own_lines: Sequence[int] = (),  # noqa: ARG002 - a chunk has no includes
    ) -> tuple[list[Section], list[Sentence]]:
        """A section for each chunk, with itself as its one leaf."""
        nodes = self._parser.get_nodes_from_documents([Document(text=text)])
        sections = [
            _chunk(text, source, number, int(getattr(node, "start_char_idx", 0)), node.get_content())
            for number, node in enumerate(nodes)
        ]
        leaves = [build_sentences(one, [Block(Kind.PROSE, 0, len(one.text))]) for one in sections]
        return sections, [leaf for group in leaves for leaf in group]

    def warnings(self, sections: Sequence[Section]) -> list[str]:  # noqa: ARG002
        """None: no Markdown is read."""
        return []


def _chunk(text: str, source: str, number: int, start: int, chunk: str) -> Section:
    first = text.count("\n", 0, start) + 1
    return Section(
        node_id=section_id(document_id(source), [], number),
        text=chunk,
        metadata={
            "source": source,
            "title": source,
            "heading_path": [],
            "level": 1,
            "start_line": first,
            "end_line": first + chunk.count("\n"),
            "hash": hashlib.sha256(chunk.encode()).hexdigest(),
        },
        start_char_idx=start,
        end_char_idx=start + len(chunk),
        document_id=document_id(source),
    )


class KnownScores:
    """A cross-encoder that scores a pair once: configurations of an experiment share most of theirs.

    A pair's score does not depend on the others that the bundled model scores with it.
    """

    def __init__(self) -> None:
        self._fresh = False
        self.model: CrossEncoder | None = None
        self._known: dict[tuple[str, str, str], float] = {}

    @property
    def name(self) -> str:
        """The model's."""
        return self.model.name if self.model else ""

    @contextmanager
    def unknown(self, wanted: bool) -> Iterator[None]:
        """Meanwhile all is scored anew, if that is wanted, so that times are those of a search."""
        self._fresh = wanted
        try:
            yield
        finally:
            self._fresh = False

    def score(self, question: str, passages: Sequence[str]) -> Scores:
        """Logits, as the model gives them."""
        keys = [(self.name, question, passage) for passage in passages]
        wanted = [key for key in dict.fromkeys(keys) if self._fresh or key not in self._known]
        if wanted and self.model:
            scores = self.model.score(question, [passage for _, _, passage in wanted])
            self._known |= dict(zip(wanted, scores.tolist(), strict=True))
        return np.array([self._known[key] for key in keys], dtype=np.float32)


class SharedModels(Models):
    """Models of which the bundled cross-encoder scores a pair once."""

    def __init__(self, settings: Settings, known: KnownScores) -> None:
        super().__init__(settings)
        self.known = known

    def cross_encoder(self) -> tuple[CrossEncoder | None, ModelChoice]:
        """The same, as `known` gives its scores."""
        model, choice = super().cross_encoder()
        if model is None or choice.provider != "bundled":  # others may be quantised by the batch
            return model, choice
        self.known.model = model
        return self.known, choice


class CutAthena(Athena):
    """An Athena over an index that was cut in another way; its manifest says so."""

    def __init__(self, settings: Settings, splitter: str, known: KnownScores) -> None:
        super().__init__(settings)
        self.splitter = splitter
        self.known = known
        self.models = SharedModels(settings, known)

    @property
    def manifest(self) -> Manifest:
        """With the splitter's name."""
        made = super().manifest
        return made if self.splitter == SENTENCES else replace(made, splitter=self.splitter)

    def fill(self, corpus: Path, *, report: Report | None = None) -> None:
        """Index a folder; raises `StoreError` where a file of it could not be."""

        def embedded(progress: Progress) -> None:
            if report and progress.stage == "embedding":
                report(progress.done, progress.total)

        with closing(self._cut_reader()) as reader:
            done = ingest(
                [corpus],
                store=self.store,
                reader=reader,
                encoder=self.encoder,
                manifest=self.manifest,
                on_progress=embedded,
            )
        for problem in done.problems:
            raise StoreError(f"Cannot index '{problem.source}': {problem.reason}.", problem.fix)

    def _cut_reader(self) -> MarkdownCorpus:
        if self.splitter == SENTENCES:
            return make_reader(self.settings, self.sentence_cutter)
        limit = int(self.settings.max_file_mb * MEGABYTE)
        return ChunkCorpus(self.splitter, self.encoder, max_bytes=limit)


def cache_folder() -> Path:
    """Where the indexes of experiments are."""
    return platformdirs.user_cache_path("athena") / "evaluation"


def open_index(
    settings: Settings,
    splitter: str,
    corpus: Path,
    *,
    key: str,
    known: KnownScores,
    report: Report | None = None,
) -> CutAthena:
    """An Athena over the corpus, cut that way; it is indexed where the cache does not have it by its key.

    An index appears in the cache when it is whole: texts that are embedded in other company could differ in
    the last digits. Raises `StoreError`, `ModelError` and `ConfigurationError`.
    """
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    _drop_unused(cache)
    folder = cache / key
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(prefix=".making-", dir=cache) as making:
            there = Path(making) / "index"
            made = CutAthena(settings.model_copy(update={**APART, "data_dir": there}), splitter, known)
            with closing(made):
                made.fill(corpus, report=report)
            try:
                there.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process was first, and its index is as good
                    raise
    folder.touch()
    return CutAthena(settings.model_copy(update={**APART, "data_dir": folder}), splitter, known)


def _drop_unused(cache: Path) -> None:
    """Delete what nobody has asked for a week, also what was broken off."""
    for folder in cache.iterdir():
        if time.time() - folder.stat().st_mtime > UNUSED_S:
            shutil.rmtree(folder, ignore_errors=True)
