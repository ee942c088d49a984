"""Steps: the record of what a run did, and who reads it: events, stored turns, spans, Phoenix."""
