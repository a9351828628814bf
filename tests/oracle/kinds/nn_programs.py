"""Programs that rows of containers and of `nn.utils` name: each takes the module of the row, and its inputs."""

import importlib

from ..row import function


@function("weights")
def _weights(library):
    """Call a module and return its weight beside the result: for weights that are made of others."""
    return lambda module, *args, name="weight": (module(*args), getattr(module, name))


@function("in turn")
def _in_turn(library):
    """Apply the modules of a ModuleList or a ModuleDict one after the other, then some of them again."""
    def run(modules, x):
        each = list(modules.values()) if isinstance(modules, library.nn.ModuleDict) else list(modules)
        results = []
        for module in each:
            x = module(x)
            results.append(x)
        return results, len(modules)

    return run


@function("edited list")
def _edited_list(library):
    """Edit the end of a ModuleList of layers of one size, and apply what it holds."""
    def run(modules, x):
        edited = modules[1:]
        edited.append(modules[0])
        edited.insert(1, library.nn.Tanh())
        edited.extend([library.nn.Sigmoid(), modules[-1]])
        del edited[-2]
        edited[0] = library.nn.Softsign()
        names = [f"{name}: {type(m).__name__}" for name, m in edited.named_children()]
        for module in edited:
            x = module(x)
        return x, names, edited.pop(1)(x), len(edited)

    return run


@function("edited sequence")
def _edited_sequence(library):
    """Edit a Sequential of layers of one size, and apply it and a part of it."""
    def run(modules, x):
        edited = library.nn.Sequential(*modules)
        edited.append(modules[0]).insert(1, library.nn.Tanh())
        edited.extend(library.nn.Sequential(library.nn.Sigmoid(), modules[-1]))
        del edited[-2]
        edited[0] = library.nn.Softsign()
        part = edited[1:-1]
        names = [[f"{name}: {type(m).__name__}" for name, m in held.named_children()] for held in (edited, part, edited + part)]
        return edited(x), part(x), names, edited.pop(2)(x), len(edited)

    return run


@function("edited dict")
def _edited_dict(library):
    """Edit a ModuleDict of layers of one size, and apply what it holds."""
    def run(modules, x):
        held = library.nn.ModuleDict(modules)
        held["b"] = library.nn.Tanh()
        held.update({"z": library.nn.Sigmoid(), "a": library.nn.Softsign()})
        last = held.pop("c")
        for module in held.values():
            x = module(x)
        return last(x), list(held.keys()), "b" in held, len(held)

    return run


@function("sum of parameters")
def _sum_of_parameters(library):
    """Add up the entries of a ParameterList or ParameterDict, each times its number."""
    def run(parameters, x):
        entries = list(parameters.values()) if isinstance(parameters, library.nn.ParameterDict) else list(parameters)
        return sum((i + 1) * p for i, p in enumerate(entries)) * x, len(parameters)

    return run


@function("assigned")
def _assigned(library):
    """Assign to a parametrized tensor, then use it."""
    def run(module, value, x, name="weight"):
        with library.no_grad():
            setattr(module, name, value)
        return getattr(module, name), module(x), dict(module.named_parameters())

    return run


@function("without parametrizations")
def _without(library):
    """Remove the parametrizations of a weight, and use it."""
    def run(module, x, name="weight", **options):
        library.nn.utils.parametrize.remove_parametrizations(module, name, **options)
        return getattr(module, name), module(x), library.nn.utils.parametrize.is_parametrized(module)

    return run


@function("cached")
def _cached(library):
    """Use a parametrized weight twice within a cache."""
    def run(module, x):
        with library.nn.utils.parametrize.cached():
            first = module(x)
            return first, module(first[..., :x.shape[-1]]), module.weight

    return run


@function("applied")
def _applied(library):
    """Call the function that a row names with the module, and the result with the input."""
    def run(module, make, x, *args, **kwargs):
        made = make(module.eval(), *args, **kwargs)
        return made(x), dict(made.named_parameters())

    return run


@function("fused")
def _fused(library):
    """Fuse the two layers of a Sequential in evaluation, and apply both the result and the parameters."""
    def run(module, make, x, *args):
        fused = make(module[0].eval(), module[1].eval(), *args)
        return fused(x), fused.weight, fused.bias, fused.training

    return run


@function("pruned")
def _pruned(library):
    """Prune a module by some calls in turn: [name of a function of prune, arguments, keyword arguments]."""
    prune = importlib.import_module(f"{library.__name__}.nn.utils.prune")

    def run(module, x, *steps, removed=False):
        for name, args, kwargs in steps:
            getattr(prune, name)(module, *args, **kwargs)
        found = {"pruned": prune.is_pruned(module)}
        if removed:
            prune.remove(module, steps[0][1][0])
        found |= {"buffers": dict(module.named_buffers()), "parameters": dict(module.named_parameters())}
        return found | {"out": module(x)}

    return run


@function("pruned together")
def _pruned_together(library):
    """Prune the weights of two layers of a Sequential together."""
    prune = importlib.import_module(f"{library.__name__}.nn.utils.prune")

    def run(module, x, scores=None, **amount):
        held = [(module[0], "weight"), (module[-1], "weight")]
        given = None if scores is None else dict(zip(held, scores))
        prune.global_unstructured(held, prune.L1Unstructured, importance_scores=given, **amount)
        return module(x), module[0].weight_mask, module[-1].weight_mask

    return run


@function("vector to parameters")
def _to_parameters(library):
    """Write a vector to the parameters of a module."""
    def run(module, vector, x):
        library.nn.utils.vector_to_parameters(vector, module.parameters())
        return module(x), dict(module.named_parameters()), library.nn.utils.parameters_to_vector(module.parameters())

    return run


@function("functional call")
def _functional_call(library):
    """Call a module with other parameters."""
    def run(module, values, args, kwargs=None, **options):
        return library.func.functional_call(module, values, args, kwargs, **options)

    return run


@function("attention with a bias of shape")
def _attention_with_bias(library):
    """scaled_dot_product_attention with one of the biases of `nn.attention.bias`, by its name."""
    bias = importlib.import_module(f"{library.__name__}.nn.attention.bias")

    def run(q, k, v, name, scale=None, enable_gqa=False):
        return library.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=getattr(bias, name)(q.shape[-2], k.shape[-2]), scale=scale, enable_gqa=enable_gqa)

    return run


@function("two parametrizations")
def _two(library):
    """Register two parametrizations of a layer's weight, and use it."""
    class Doubled(library.nn.Module):
        def forward(self, w):
            return w * 2 + 0.5

        def right_inverse(self, w):
            return (w - 0.25) / 2

    class Lower(library.nn.Module):
        def forward(self, w):
            return w.tril() + w.triu(1) * 0.25

    parametrize = library.nn.utils.parametrize

    def run(module, x):
        parametrize.register_parametrization(module, "weight", Doubled())
        before = module.weight
        parametrize.register_parametrization(module, "weight", Lower())
        kinds = type(module).__name__, parametrize.type_before_parametrizations(module).__name__
        weights = before, module.weight, dict(module.named_parameters())
        return module(x), weights, parametrize.is_parametrized(module, "bias"), kinds

    return run
