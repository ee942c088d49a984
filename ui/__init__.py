"""The Streamlit pages: one file a page, and what they share."""
