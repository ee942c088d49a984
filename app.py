"""Entry point of the web app for `streamlit run app.py`; `athena serve` starts the same app."""

from __future__ import annotations

import streamlit as st

from ui.serving import APP_FILE, serving

app = st.App(APP_FILE, **serving())  # Streamlit finds it by this name
