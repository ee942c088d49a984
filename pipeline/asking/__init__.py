"""The question before the search: what it asks for, how it is spelt, and whether it is one at all."""
