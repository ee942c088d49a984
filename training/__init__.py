"""How the bundled cross-encoder is made: `python -m training DATA WEIGHTS`; nothing of this runs in Athena.

`docs/decisions/relevance.md` has the data, the recipe and the measurements.
"""
