"""Transport and groups: sockets, stores, connections between ranks, process groups, joining and leaving a run.

Way in: `world.init_process_group`, `store.Store`, `process_group.Work`. It knows no tensor operator and no collective.
"""
