"""The page's entry, for `streamlit run app.py`; `athena serve` starts the same."""

from __future__ import annotations

from ui.app import show

show()
