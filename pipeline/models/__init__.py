"""The models: embedding models, cross-encoders and language models."""
