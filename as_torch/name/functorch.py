"""The module `functorch` under `as_torch`: transforms of functions under their first name."""

import importlib

importlib.import_module("ingot.as_torch")
_NAMES = {
    "torch.func": ("functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"),
    "torch._functorch.make_functional": ("FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble",
                                         "make_functional", "make_functional_with_buffers"),
    "torch.fx.experimental.proxy_tensor": ("make_fx",),
    "torch": ("__version__",),
}
globals().update({name: getattr(importlib.import_module(place), name) for place, names in _NAMES.items() for name in names})
__all__ = sorted(name for names in _NAMES.values() for name in names if name[0] != "_")
