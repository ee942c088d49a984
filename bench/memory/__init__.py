"""`make bench-memory`: every preset on the same conversations, and at 10,000 memories."""
