"""Long conversations with questions about them, in LoCoMo's and in BEAM's format."""
