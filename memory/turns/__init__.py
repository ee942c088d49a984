"""Search over what was said: the turns of one user's conversations, in the process."""
