"""The memory in a chat: what a message is to it, what it replies, what is done after the answer."""
