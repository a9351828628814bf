"""Benchmarks: ingot and its peers on the same work, interleaved in one process."""
