"""The three recipes (ingest, retrieve, chat) and the steps that they are made of."""
