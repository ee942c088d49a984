"""The Streamlit pages: a folder for each, one for conversations, one for what all share."""
