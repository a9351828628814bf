"""Signatures of public classes and functions: every default that PyTorch has, and the order of parameters."""

import importlib
import inspect

from ..row import Row, lookup

SPACES = ("nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.prune", "nn.utils.parametrize", "nn.utils.parametrizations", "nn.attention.flex_attention",
          "optim", "optim.lr_scheduler", "optim.swa_utils", "distributions", "distributions.transforms", "signal.windows", "func", "autograd", "autograd.functional", "amp", "fft", "linalg", "special")
LEFT_OUT = {"nn.RNNBase", "nn.RNNCellBase", "nn.Module",                # bases that differ within
            "nn.factory_kwargs", "nn.functional.assert_int_or_pair", "nn.functional.boolean_dispatch", "optim.swap_in_optimizer_params_and_state", "func.rearrange", "autograd.enforce_grad_layout_policy",     # no public names
            "nn.functional.handle_torch_function",     # that of torch.overrides; ingot.as_torch has it there
            "nn.functional.scaled_mm", "nn.functional.scaled_grouped_mm",     # on a GPU alone
            "nn.attention.flex_attention.BlockMask", "nn.attention.flex_attention.create_block_mask", "nn.attention.flex_attention.create_mask",     # made by a function; the device is the CPU if none is said
            "autograd.enable_grad"}

OLD = {"self", "min_value", "max_value", "grad_variables"}      # the last three are names of old


def _is_public(space, module, name):
    value = getattr(module, name)
    if name.startswith("_") or not callable(value) or not getattr(value, "__module__", "").startswith("torch."):
        return False
    return f"{space}.{name}" not in LEFT_OUT


def _methods(value):
    """Yield the paths below a class that have signatures worth a row: itself, and the call of a module."""
    yield ""
    if isinstance(value, type) and "forward" in vars(value) and not value.__name__.endswith("Loss"):      # theirs take any names
        yield ".forward"


def rows(torch, rng):
    """Yield a row for each callable that Python can tell the signature of."""
    for space in SPACES:
        module = importlib.import_module(f"torch.{space}")
        names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
        for name in sorted(set(names)):
            if not _is_public(space, module, name):
                continue
            for below in _methods(getattr(module, name)):
                path = f"{space}.{name}{below}"
                try:
                    found = inspect.signature(lookup(torch, path)).parameters
                except (TypeError, ValueError):
                    continue
                parameters = [n for n, p in found.items() if not n.startswith("_") and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and n not in OLD]
                by_place = [n for n in parameters if found[n].kind is not inspect.Parameter.KEYWORD_ONLY]
                if parameters:
                    yield Row(f"{space}/{name}{below}", "signature", space, (), {}, {"path": path, "parameters": parameters, "by_place": by_place})
