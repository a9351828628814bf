"""The operators, one record each, by family."""
