"""What Streamlit runs: page setup and navigation, nothing else."""

from __future__ import annotations

import streamlit as st

from ui import pages


def show() -> None:
    """Show the page that was asked for."""
    # A ":material/…:" page icon would be fetched from another host; a file of our own is not.
    st.set_page_config(page_title=pages.name(), page_icon=str(pages.ICON), layout="wide")
    st.logo(pages.logo(pages.name()), icon_image=str(pages.ICON), size="large")
    st.navigation(pages.all_pages()).run()


if __name__ == "__main__":
    show()
