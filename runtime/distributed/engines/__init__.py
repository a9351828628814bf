"""Engines: each connects the ranks of a run, by shared memory or over TCP. Channels: collectives of a group on an engine.

Way in: `engine.Engine`, `engine.Channel`. Each message names its collective; ranks with different ones raise an error. The room
knows no tensor.
"""
