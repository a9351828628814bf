"""Process groups, the membership of this process in a run, and pending operations.

Way in: `world.init_process_group`, `world.the_group`, `process_group.Work`.
"""
