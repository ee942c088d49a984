"""The view of a conversation, which the chat and the mission's page share."""
