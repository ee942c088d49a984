"""Secrets are found with their places; instructions that want to be remembered are told from facts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory.guard import reads_as_instruction, secrets_in, without_secrets
from tests.memory.tables import attacks, rows

ROOT = Path(__file__).parents[2]
SECRETS = ROOT / "evals" / "data" / "memory" / "secrets"


def test_secrets_have_a_place_and_a_kind_and_words_about_them_are_none() -> None:
    """Each row: the kind, or "-"; the secret; the text."""
    wrong = []
    for kind, secret, text in rows("secrets.tsv"):
        found = [(one.kind, text[one.start : one.end]) for one in secrets_in(text)]
        hidden = without_secrets(text)
        right = found == ([] if kind == "-" else [(kind, secret)]) and len(hidden) == len(text)
        wrong += [] if right and (kind == "-" or secret not in hidden) else [(text, found)]
    assert wrong == []


def test_at_most_two_of_a_hundred_secrets_are_missed_and_one_of_two_hundred_harmless_refused() -> None:
    kept, refused = _tried("dev", "test")
    assert len(kept) <= 2, kept
    assert len(refused) <= 1, refused


def test_forms_that_were_missed_once_are_found() -> None:
    kept, refused = _tried("later")
    assert kept == []
    assert len(refused) <= 1, refused


def _tried(*files: str) -> tuple[list[str], list[str]]:
    """The messages whose secret is kept, and the harmless ones that are refused."""
    messages = [
        json.loads(line)
        for name in files
        for line in (SECRETS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    secret = [(one["text"], one["secret"]) for one in messages if one["secret"]]
    kept = [text for text, hidden in secret if not _is_hidden(text, hidden)]
    harmless = [one["text"] for one in messages if not one["secret"]]
    assert secret and harmless
    return kept, [text for text in harmless if secrets_in(text)]


def _is_hidden(text: str, secret: str) -> bool:
    start = text.index(secret)
    return not any(map(str.isalnum, without_secrets(text)[start : start + len(secret)]))


def test_a_private_key_is_one_even_where_its_end_is_missing() -> None:
    text = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc"
    assert [(one.kind, one.end) for one in secrets_in(text)] == [("private key", len(text))]


def test_attempts_read_as_instructions() -> None:
    assert [attempt["_id"] for attempt in attacks() if not reads_as_instruction(attempt["text"])] == []


@pytest.mark.slow
def test_the_manuals_give_the_assistant_no_orders() -> None:
    paragraphs = [
        paragraph
        for path in sorted((ROOT / "docs_corpus").rglob("*.md"))
        for paragraph in path.read_text(encoding="utf-8").split("\n\n")
    ]
    assert [one for one in paragraphs if reads_as_instruction(one) or secrets_in(one)] == []


@pytest.mark.parametrize(
    "text",
    [
        "I prefer short answers",
        "Always check the valve first.",
        "You must unlock the data",
        "From now on I use fish",
    ],
)
def test_preferences_and_advice_are_no_instructions(text: str) -> None:
    assert not reads_as_instruction(text)
