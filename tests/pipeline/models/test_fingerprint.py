"""The recipe number changes with the texts that are embedded."""

from __future__ import annotations

import hashlib
import json

from pipeline.analysis import EMBEDDING_RECIPE
from pipeline.ingesting.run import embedding_texts
from pipeline.models.embedding import OnnxEncoder
from readers.corpus import MarkdownCorpus
from readers.cutting import SentenceCutter

MANUAL = """---
title: Cooling
---
Before any heading.

# Cooling loop

The pump moves coolant. It stops at 95 °C.

## Limits

| Part | Limit |
|---|---|
| Pump | 5 bar |

<table><tr><th>Part</th></tr><tr><td>Belt</td></tr></table>

### Deep below

- Check the valve first.

<!-- Not for readers. -->

!!! note "Mind this"
    See [the pump]({{site.url}}/pump)<br>first.

""" + " ".join(f"Then read gauge number {number} of the loop." for number in range(60))

RECIPE = (5, "9c8497818304")
"""The recipe's number, and the beginning of the SHA-256 of what it embeds of `MANUAL`."""


def test_what_is_embedded_is_what_the_recipe_says() -> None:
    encoder = OnnxEncoder()
    reader = MarkdownCorpus(lambda: SentenceCutter(encoder.count_tokens), max_bytes=1)
    texts = embedding_texts(*reader.cut(MANUAL, source="cooling.md"), encoder=encoder)
    digest = hashlib.sha256(json.dumps(list(texts.values())).encode()).hexdigest()
    changed = "What is embedded has changed: raise EMBEDDING_RECIPE, and record both here."
    assert (EMBEDDING_RECIPE, digest[:12]) == RECIPE, changed
