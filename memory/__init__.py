"""What the assistant remembers: from words to records, and what is done with them."""
