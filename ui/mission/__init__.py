"""The mission page."""
