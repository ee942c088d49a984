"""Steps: the record of what a run did, and what becomes of it: events, spans, Phoenix."""
