"""Ingesting: which documents there are, what changed, and what is embedded together."""
