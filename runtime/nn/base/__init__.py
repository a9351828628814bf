"""Base of all modules: Module, Parameter, Buffer, hooks, state dicts, containers, lazy sizes, initialisation.

Way in: `module.Module`, `parameter.Parameter`. Each change of a module's tables bumps the version in state/structure. The room
knows no layer.
"""
