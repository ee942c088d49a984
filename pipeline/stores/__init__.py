"""Stores of documents, conversations and memories: their protocols, and the two backends."""
