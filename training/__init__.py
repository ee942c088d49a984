"""How the bundled cross-encoder is made: `python -m training mine | negatives | train | export | check`.

Nothing of this runs in Athena: what comes out lies in `pipeline/models/bundled/athena-cross-encoder`.
`docs/decisions/relevance-model.md` has the data, the recipe and what was measured.
"""
