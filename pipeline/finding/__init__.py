"""Finding: the steps of a search, from the hypothesis to the passages that an answer may rest on."""
