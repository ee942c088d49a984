"""The models: embeddings, cross-encoder, language models, and the quotes that stand in for one."""
