"""Calls of ingot's operators that read packed weights."""

CALLS: dict = {}
