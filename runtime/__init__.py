"""The eager runtime: tensors, the door that runs operators on them, and everything that users call."""
