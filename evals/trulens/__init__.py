"""TruLens: answers as records of its database, and its dashboard."""
