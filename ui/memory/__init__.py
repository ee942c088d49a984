"""The page Memory: what is remembered about a user, to see, decide, change and forget."""
