"""Base of all modules: Module, Parameter, Buffer, hooks, state_dict, containers, lazy sizes, initialisation.

Way in: `module.Module`, `parameter.Parameter`. Each change of a module's tables counts in core/structure. It knows no layer.
"""
