"""The Streamlit pages: a folder for each, one for conversations, and one for shared modules."""
