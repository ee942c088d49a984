"""The page's entry, for `streamlit run app.py`; `athena serve` starts the same."""

from __future__ import annotations

import streamlit as st

from ui.serving import APP_FILE, serving

app = st.App(APP_FILE, **serving())  # Streamlit finds it by this name
