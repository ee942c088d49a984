"""Ingesting: find documents, detect changes, and embed texts in batches."""
