"""Secrets are found with their places; instructions that want to be remembered are told from facts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory.extracting import reads_as_instruction, secrets_in, without_secrets
from memory.extracting.records import SecretKind

ROOT = Path(__file__).parents[3]
ATTACKS = [
    json.loads(line)
    for line in (ROOT / "evals/data/memory/attacks/attacks.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        ("my password is hunter2", SecretKind.PASSWORD, "hunter2"),
        ("My wifi password is correcthorse.", SecretKind.PASSWORD, "correcthorse"),
        ("the password for the db is Xy7!pq", SecretKind.PASSWORD, "Xy7!pq"),
        ("DB_PASSWORD=swordfish", SecretKind.PASSWORD, "swordfish"),
        ("my pin is 4711", SecretKind.PASSWORD, "4711"),
        ("remember my pin 8842", SecretKind.PASSWORD, "8842"),
        ("my recovery phrase: otter lamp seven", SecretKind.PASSWORD, "otter lamp seven"),
        ("remember my seed words: otter lamp seven", SecretKind.PASSWORD, "otter lamp seven"),
        ("the login for the console is kai / Winter2026!", SecretKind.PASSWORD, "Winter2026!"),
        ("the combination of the safe is 12-34-56", SecretKind.PASSWORD, "12-34-56"),
        ("gate code for the shed is 4711", SecretKind.PASSWORD, "4711"),
        ("acct 12345678", SecretKind.ACCOUNT, "12345678"),
        ("sort code 20-00-00", SecretKind.ACCOUNT, "20-00-00"),
        ("my pasport number is C01X00T47", SecretKind.ACCOUNT, "C01X00T47"),
        ("my passphrase is correct horse battery", SecretKind.PASSWORD, "correct horse battery"),
        ("postgres://bob:s3cret@host/db", SecretKind.PASSWORD, "s3cret"),
        ("api key: abcd1234efgh", SecretKind.TOKEN, "abcd1234efgh"),
        ("Bearer abcdefghijkl123456", SecretKind.TOKEN, "abcdefghijkl123456"),
        (
            "it is eyJhbGciOiJI.eyJzdWIiOiIx.dozjgNryP4J3",
            SecretKind.TOKEN,
            "eyJhbGciOiJI.eyJzdWIiOiIx.dozjgNryP4J3",
        ),
        ("use sk-abcdefghijklmnopqrstuv", SecretKind.KEY, "sk-abcdefghijklmnopqrstuv"),
        ("AKIAIOSFODNN7EXAMPLE", SecretKind.KEY, "AKIAIOSFODNN7EXAMPLE"),
        ("card 4111 1111 1111 1111, ok", SecretKind.CARD, "4111 1111 1111 1111"),
        ("DE89 3704 0044 0532 0130 00", SecretKind.ACCOUNT, "DE89 3704 0044 0532 0130 00"),
    ],
)
def test_secrets_have_a_place_and_a_kind(text: str, kind: SecretKind, secret: str) -> None:
    (found,) = secrets_in(text)
    assert (found.kind, text[found.start : found.end]) == (kind, secret)
    hidden = without_secrets(text)
    assert secret not in hidden
    assert len(hidden) == len(text)


def test_a_private_key_is_one_even_where_its_end_is_missing() -> None:
    text = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc"
    assert [(one.kind, one.end) for one in secrets_in(text)] == [(SecretKind.PRIVATE_KEY, len(text))]


@pytest.mark.parametrize(
    "text",
    [
        "the password is stored in the vault",
        "how do I change my password?",
        "my password is too long",
        "the token is invalid",
        "My secret is that I like tea",
        "4111-1111-1111-1112",  # a wrong check digit
        "DE88 3704 0044 0532 0130 00",
        "call +49 170 1234567890",
        "commit 9ede48d0a1b2c3d4e5f60718293a4b5c6d7e8f90",
        "use std::pin::Pin;",
    ],
)
def test_what_only_speaks_of_secrets_is_none(text: str) -> None:
    assert secrets_in(text) == ()


@pytest.mark.parametrize("attempt", ATTACKS, ids=lambda attempt: str(attempt["_id"]))
def test_attempts_read_as_instructions(attempt: dict[str, str]) -> None:
    assert reads_as_instruction(attempt["text"])


def test_there_are_twenty_attempts() -> None:
    assert len({attempt["_id"] for attempt in ATTACKS}) == 20


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


@pytest.mark.parametrize(
    "text",
    [
        "remember my pasword is hunter2horse",
        "my passwort is geheim123",
        "the root pw is toor4ever",
        "the safe combination is 12-34-56",
        "our door code is 4711",
    ],
)
def test_misspelt_and_other_words_for_a_password(text: str) -> None:
    (found,) = secrets_in(text)
    assert text[found.start : found.end] == text.split()[-1]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a combination of both is fine",
            "the pw is pulse width",
            "error code is 404",
            "pin 1024 is ground",
        ),
        *("the alarm code is C-104", "sort by 10-20-30", "the seed words are stored in the safe"),
        *("the login page is /login, see docs", "a combination of 12 and 34 parts", "the pin 12 of J3"),
        *(
            "my sensor pin 1023 is bent",
            "we take into account 300000 steps",
            "Our connector pin 1234 carries 5 V.",
        ),
        *(
            "the recovery phrase consists of twelve words",
            "The combination is 1000 - 2000 rpm.",
            "Sort 12-10-24 first",
        ),
        *("The login server is alpha1 and alpha2.", "Account: 1000000 users", "my main pin 4000 psi"),
    ],
)
def test_words_that_are_no_secrets(text: str) -> None:
    assert not secrets_in(text)
