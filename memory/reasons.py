"""Why a memory is kept, in words that are stored with it."""

from __future__ import annotations

WAS_ASKED_FOR = "You asked to remember it."
