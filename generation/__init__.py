"""Text from language models in GGUF files."""
