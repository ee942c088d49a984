"""A generated text becomes an answer whose markers are exact spans and whose sentences are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.answer import Citation, Support
from pipeline.answering.citations import cite, sentences_of
from pipeline.answering.context import Source
from pipeline.answering.evidence import evidence_of
from pipeline.answering.locating import SentenceLocator
from pipeline.answering.verification import Judge, plain_sentence, verify
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentStore


@dataclass(frozen=True, slots=True)
class Checked:
    """The text with its final markers, what they cite, and whether that supports each sentence."""

    text: str
    citations: tuple[Citation, ...]
    support: tuple[Support, ...]


def check(
    text: str,
    sources: Sequence[Source],
    *,
    store: DocumentStore,
    encoder: Encoder,
    file_hashes: Mapping[str, str],
    cut_off: bool = False,
) -> Checked:
    """Resolve the markers of a text that was written from numbered sources, and check its sentences.

    Each sentence is checked by all of the sources, with or without a marker. A citation is verified unless
    each sentence that cites it lacks support. `cut_off`: the text may end within a sentence.
    """
    passages = {source.number: source.passage for source in sources}
    judge = Judge(evidence_of(passages, store=store), encoder=encoder)
    judge.prepare([plain_sentence(text, piece) for piece in sentences_of(text)])
    locate = SentenceLocator(passages, judge=judge, encoder=encoder)
    cited = cite(text, passages, locate=locate, file_hashes=file_hashes)
    support = verify(cited.text, cited.pieces, judge, cut_off=cut_off)
    failed = {marker for item in support if not item.supported for marker in item.markers}
    held = {marker for item in support if item.supported for marker in item.markers}
    citations = tuple(
        replace(citation, verified=citation.marker in held or citation.marker not in failed)
        for citation in cited.citations
    )
    return Checked(cited.text, citations, support)
