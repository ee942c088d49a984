"""Training of the bundled cross-encoder: `python -m training DATA WEIGHTS`. Athena itself never runs this.

`docs/decisions/relevance.md` describes the data, the recipe and the measurements.
"""
