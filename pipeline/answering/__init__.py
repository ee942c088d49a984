"""Answering: from a message and its passages to an answer with verified citations."""
