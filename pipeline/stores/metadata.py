"""Metadata as it is stored: what a sentence has from its section stands once, with the section.

A heading goes with every sentence below it; written to each of them, a short file with long headings would
take many times its size.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Metadata = Mapping[str, Any]


def own_metadata(metadata: Metadata, above: Metadata) -> str:
    """Return the metadata that differ from the section's, as JSON; null where only the section has a key."""
    own = {key: value for key, value in metadata.items() if key not in above or above[key] != value}
    return json.dumps(own | dict.fromkeys(above.keys() - metadata.keys()), ensure_ascii=False, default=str)


def whole_metadata(own: str, above: Metadata) -> dict[str, Any]:
    """The metadata of a node, from its own and that of its section."""
    return {key: value for key, value in {**above, **json.loads(own)}.items() if value is not None}
