"""State of each thread and of the process, and the Protocols of those who hear of it.

Way in: `mode.tls.m` is the mode of the thread: whether gradients, a recorder or an observer are on. `switches.Switch` holds
what programs set and ask for. `structure.Structure.version` moves with each change of a module. The room imports no tensor.
"""
