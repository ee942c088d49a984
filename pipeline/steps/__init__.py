"""Steps: the record of a run, its events, the tokens that it used, and its export to Phoenix."""
