"""Many users at once on the server stores: errors, times, memory, and ingest beside the embedded store."""
