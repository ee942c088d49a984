"""The Streamlit app: page setup and navigation, nothing else."""

from __future__ import annotations

import streamlit as st

from ui import pages

# A ":material/…:" page icon would be fetched from another host; a file of our own is not.
st.set_page_config(page_title="Athena", page_icon=str(pages.ICON), layout="wide")
st.logo(str(pages.LOGO), icon_image=str(pages.ICON), size="large")
st.navigation([pages.chat(), pages.inspector(), pages.documents()]).run()
