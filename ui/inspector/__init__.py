"""The inspector page."""
