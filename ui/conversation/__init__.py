"""A conversation as it is shown, by the chat and beside the mission's console."""
