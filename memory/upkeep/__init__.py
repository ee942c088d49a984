"""Upkeep: what keeps a memory small and of use. Each works without a language model, if need be less well."""
