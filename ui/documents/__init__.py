"""The documents page."""
