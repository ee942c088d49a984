"""What the assistant remembers."""
