"""Secrets are taken out of texts in every form that a server may repeat, and texts stay as they are."""

from __future__ import annotations

import base64
import json
import logging
import threading
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

import httpx
import pytest

from pipeline import redaction
from pipeline.errors import AthenaError
from pipeline.options import LanguageModelOptions
from pipeline.redaction import MARK, Redactor, hide, redacted, secrets_in

KEY = 'sk-proj-9f/8+Kd=0 zAq"Wxy7&'
PASSWORD = "p@ss/w0rd:&"


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test hides, the next one does not know."""
    monkeypatch.setattr(redaction, "_known", set())
    monkeypatch.setattr(redaction, "_current", Redactor())
    make = logging.getLogRecordFactory()
    yield
    logging.setLogRecordFactory(make)


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


FORMS = {
    "as it is": KEY,
    "in a header": f"Authorization: Bearer {KEY}",
    "in capitals": KEY.upper(),
    "in a URL": quote(KEY, safe=""),
    "in a URL, in small letters": quote(KEY, safe="").lower(),
    "in a form": quote_plus(KEY),
    "in JSON": json.dumps({"key": KEY}),
    "in a URL within a URL": quote(quote(KEY, safe=""), safe=""),
    "in Python": repr({"key": KEY}),
    "in hexadecimal digits": KEY.encode().hex(),
    "in bytes, as a dump has them": KEY.encode().hex(" ").upper(),
    "in base64": b64(KEY),
    "as user and key in base64": b64(f"anyone:{KEY}"),
    "in base64, a place later": b64(f"x{KEY}yz"),
    "in base64, two places later": b64(f"xy{KEY}"),
    "in base64 for URLs": base64.urlsafe_b64encode(KEY.encode()).decode(),
}


BUT_ONE = {
    "without its last character": KEY[:-1],
    "without its first character": KEY[1:],
    "without one within": KEY[:20] + KEY[21:],
    "with one wrong character": KEY[:5] + "*" + KEY[6:],
}


@pytest.mark.parametrize("text", [*FORMS.values(), *BUT_ONE.values()], ids=[*FORMS, *BUT_ONE])
def test_every_form_of_a_secret_is_taken_out(text: str) -> None:
    shown = Redactor([KEY]).redacted(f"before {text} after")
    assert MARK in shown
    assert shown.startswith("before ") and shown.endswith(" after")
    # Of a longer text in base64, what may be left of the key is what its neighbours share with it.
    middle = KEY[2:-2]
    assert middle not in shown and b64(middle)[2:-4] not in shown


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_a_secret_in_pieces_is_taken_out(text: str) -> None:
    whole = f"The valve is open. {text} So close it."
    for size in (1, 2, 3, 7, 40):
        stream = Redactor([KEY]).stream()
        said = [stream.take(whole[at : at + size]) for at in range(0, len(whole), size)]
        assert "".join([*said, stream.end()]) == Redactor([KEY]).redacted(whole), size


@pytest.mark.parametrize("place", ["/", "/?key=", "/#"])
def test_a_key_is_taken_out_of_an_address_as_a_client_writes_it(place: str) -> None:
    """It quotes some characters and leaves others, which are not the same in every place."""
    key = 'sk-q"7/<x>&+Zr=9Vb1Qw'
    address = httpx.URL("http://host").join(f"http://host{place}{key}")
    assert str(Redactor([key]).redacted(str(address))) == f"http://host{place}{MARK}"


def test_a_stream_that_ends_within_a_secret_says_none_of_it() -> None:
    stream = Redactor([KEY]).stream()
    assert stream.take(f"Your key is {KEY[:-1]}") + stream.end() == f"Your key is {MARK}"


def test_other_texts_stay_as_they_are_and_come_at_once() -> None:
    stream = Redactor([KEY]).stream()
    pieces = ["The LN2 ", "tank of 5 l ", "at 20 % ", "shows `OFFLINE`. ", "[1] "]
    assert [stream.take(piece) for piece in pieces] == pieces


@pytest.mark.parametrize("secret", ["fan", "athena", "hunter"])
def test_a_secret_that_is_a_word_is_taken_out_where_it_is_one(secret: str) -> None:
    redactor = Redactor([secret])
    assert redactor.weak == 1
    assert redactor.redacted(f"The {secret} hums.") == f"The {secret} hums."
    for text in (
        f"Bearer {secret}",
        f'"api_key": "{secret}"',
        f"password={secret}",
        f"your key is {secret}.",
    ):
        assert secret not in redactor.redacted(text), text
    assert secret not in redactor.redacted(f"http://user:{secret}@host/")
    assert redactor.heard(f"wrong: {secret}!") == f"wrong: {MARK}!"
    assert redactor.heard(f"{secret}s") == f"{secret}s"


def test_placeholders_are_no_secrets() -> None:
    assert not Redactor(["none", "ollama", "EMPTY", "lm-studio", "", " "])


def test_the_secrets_of_options() -> None:
    options = {
        "openai_api_key": KEY,
        "mongodb_url": f"mongodb://app:{quote(PASSWORD, safe='')}@db/?authSource=admin&tlsCAFile=/k",
        "ollama_url": "http://t0ken-of-mine@host:11434",
        "openai_base_url": "https://host/v1?api_key=k3y-in-query&region=eu",
        "context_tokens": 2500,
        "weaviate_url": "http://127.0.0.1:8080",
    }
    found = set(secrets_in(options))
    assert {KEY, PASSWORD, quote(PASSWORD, safe=""), "t0ken-of-mine", "k3y-in-query"} <= found
    assert not {"admin", "/k", "eu", "app", "2500"} & found


def test_what_stands_in_the_environment_is_hidden_too() -> None:
    hide(
        {},
        {
            "OTEL_EXPORTER_OTLP_HEADERS": "api_key=ph0enix-key-1,x-team=blue-team-77",
            "HTTPS_PROXY": "http://me:pr0xy-word@proxy:3128",
            "http_proxy": "proxy:3128",
        },
    )
    assert redacted("ph0enix-key-1 pr0xy-word proxy:3128") == f"{MARK} {MARK} proxy:3128"


def test_bytes_that_are_no_text_are_hidden_too() -> None:
    key, password = "\udcffk-12345", "p\udcff-12345"
    hide({}, {"OLLAMA_API_KEY": key, "HTTP_PROXY": f"http://u\udcff:{password}@h/"})
    assert redacted(f"{key} {password} {key!r}") == f"{MARK} {MARK} '{MARK}'"


def test_options_hide_what_they_carry() -> None:
    options = LanguageModelOptions(openai_api_key=KEY, ollama_url=f"http://u:{quote(PASSWORD, safe='')}@h")
    assert KEY not in repr(options) and "@h" not in repr(options)
    assert str(AthenaError(f"It said: {KEY}.", f"Look at {PASSWORD}")) == f"It said: {MARK}. Look at {MARK}"


def test_logs_are_made_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    hide({"api_key": KEY})
    log = logging.getLogger("somebody.elses")
    try:
        raise ValueError(f"bad key {KEY}")
    except ValueError:
        log.exception("GET %s failed", f"http://host/?key={quote(KEY, safe='')}")
    logging.getLogRecordFactory()("a", 40, "b.py", 1, "%d", ("no number",), None)  # left to the handlers
    text = caplog.text + "".join(str(record.args) for record in caplog.records)
    assert "bad key" in text and MARK in text
    assert KEY not in text and quote(KEY, safe="") not in text


def test_tracebacks_are_printed_without_secrets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.excepthook", None)
    monkeypatch.setattr("threading.excepthook", None)
    redaction.guard_tracebacks()
    hide({"api_key": KEY})
    thread = threading.Thread(target=int, args=(f"bad {KEY}",))
    thread.start()
    thread.join()
    printed = capsys.readouterr().err
    assert "ValueError" in printed and MARK in printed and KEY not in printed
