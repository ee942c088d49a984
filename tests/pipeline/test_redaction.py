"""Secrets of the settings are taken out of texts, as they stand and as URLs quote them; other texts stay."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

import pytest

from pipeline.errors import AthenaError
from pipeline.options import LanguageModelOptions
from pipeline.redaction import MARK, guard_output, hide, redacted, secrets_in, without_password

KEY = "sk-proj-9f/8+Kd=0 zAq&7"
PASSWORD = "p@ss/w0rd:&"


@pytest.fixture
def guarded() -> Iterator[None]:
    make, hook, in_thread = logging.getLogRecordFactory(), sys.excepthook, threading.excepthook
    guard_output()
    yield
    logging.setLogRecordFactory(make)
    sys.excepthook, threading.excepthook = hook, in_thread


@pytest.mark.parametrize("form", [KEY, quote(KEY), quote(KEY, safe=""), quote_plus(KEY)])
def test_a_secret_is_taken_out_in_each_form(form: str) -> None:
    hide({"openai_api_key": KEY})
    assert redacted(f"before {form} after") == f"before {MARK} after"
    assert str(AthenaError(f"It said {form}.")) == f"It said {MARK}."


@pytest.mark.parametrize("word", ["", "none", "ollama", "lm-studio", "athena", "x1"])
def test_words_and_placeholders_are_no_secrets(word: str) -> None:
    hide({"openai_api_key": word})
    assert redacted(f"The {word} hums.") == f"The {word} hums."


def test_the_secrets_of_options_are_known_by_their_names() -> None:
    options = {
        "openai_api_key": KEY,
        "mongodb_url": f"mongodb://app:{quote(PASSWORD, safe='')}@db/?authSource=admin&tlsCAFile=/k",
        "ollama_url": "http://t0ken-of-mine@host:11434",
        "openai_base_url": "https://host/v1?api_key=k3y-in-query&region=eu",
        "context_tokens": 2500,
        "weaviate_url": "http://127.0.0.1:8080",
    }
    assert set(secrets_in(options)) == {KEY, quote(PASSWORD, safe=""), "t0ken-of-mine", "k3y-in-query"}
    hide(options)
    assert redacted(PASSWORD) == MARK


def test_options_show_no_secret() -> None:
    options = LanguageModelOptions(openai_api_key=KEY, ollama_url=f"http://u:{quote(PASSWORD, safe='')}@h")
    assert KEY not in repr(options) and "@h" not in repr(options)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://me:p@ss@host:1/v1", "http://host:1/v1"),
        ("http://host/?api_key=k3y&region=eu", "http://host/?api_key=…&region=eu"),
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert without_password(url) == shown


@pytest.mark.usefixtures("guarded")
def test_logs_and_tracebacks_of_a_guarded_process(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    hide({"api_key": KEY})
    try:
        raise ValueError(f"bad key {KEY}")
    except ValueError as error:
        logging.getLogger("somebody.elses").exception("GET %s failed", f"http://host/?key={quote_plus(KEY)}")
        sys.excepthook(ValueError, error, None)
    thread = threading.Thread(target=int, args=(f"bad {KEY}",))
    thread.start()
    thread.join()
    shown = caplog.text + capsys.readouterr().err
    assert shown.count(MARK) >= 4
    assert KEY not in shown and quote_plus(KEY) not in shown
