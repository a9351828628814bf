"""Transport and groups: sockets, stores, connections between ranks, process groups, membership of a run.

Way in: `world.init_process_group`, `store.Store`, `process_group.Work`. Each message names its collective; ranks with
different ones raise an error. The room knows no tensor operator and no collective.
"""
