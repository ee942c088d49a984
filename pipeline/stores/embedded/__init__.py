"""The embedded store: one SQLite file, and two indexes derived from it."""
