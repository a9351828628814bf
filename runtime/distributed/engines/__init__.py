"""Engines and groups: stores where ranks meet, engines that connect them, process groups, membership of a run.

Way in: `world.init_process_group`, `engine.Engine`, `store.Store`, `process_group.Work`. Each message names its collective;
ranks with different ones raise an error. The room knows no tensor operator.
"""
