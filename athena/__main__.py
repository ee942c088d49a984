"""`python -m athena`: the command line."""

from __future__ import annotations

from athena.cli import main

main()
