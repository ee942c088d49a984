"""What a user should know although nothing failed: a line each, on a logger that the command line shows."""

from __future__ import annotations

import logging

NOTICES = "athena.notices"

notices = logging.getLogger(NOTICES)
