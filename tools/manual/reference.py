"""Pages of the reference: one for each public class and function, and one for each module with a list of its names."""

import inspect
import types
from collections import Counter

from .docstrings import inline, rendered, summary_of
from .public_names import Entry, dotted, entries, own_doc, source_of, tree

# Sections of the index. A module that no row names stands under the last title.
GROUPS = {
    "Tensors and mathematics": ("", "linalg", "fft", "special", "sparse", "signal.windows", "nested", "masked", "random"),
    "Networks": ("nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.parametrize", "nn.utils.prune",
                 "nn.attention", "nn.attention.flex_attention", "nn.parallel"),
    "Training": ("optim", "optim.lr_scheduler", "optim.swa_utils", "autograd", "autograd.functional", "autograd.graph", "amp",
                 "func", "distributions", "distributions.transforms", "distributions.constraints", "utils.data",
                 "utils.checkpoint", "utils.tensorboard"),
    "Tracing and shipping": ("jit", "compiler", "fx", "export", "onnx", "library", "quantization", "ao.quantization",
                             "generation", "utils.gguf", "serialization"),
    "Machines": ("cuda", "cpu", "accelerator", "backends", "distributed", "distributed.fsdp", "distributed.tensor",
                 "distributed.tensor.parallel", "distributed.checkpoint", "multiprocessing", "profiler", "utils.benchmark"),
    "Other standards": ("array_api",),
    "Further paths": (),
}


def page_names() -> dict:
    """Return {object: name of its page}. Names that differ only in case get pages that do not: file systems may fold case."""
    folded = Counter(entry.full_name.lower() for entry in entries().values())
    return {thing: entry.full_name + "-class" * (entry.is_class and folded[entry.full_name.lower()] > 1)
            for thing, entry in entries().items()}


def pages() -> dict:
    """Return {path: text} of the reference."""
    names = page_names()
    found = {f"reference/{names[thing]}.rst": entry_page(entry, names) for thing, entry in entries().items()}
    assert len({name.lower() for name in found}) == len(found)
    found |= {f"modules/{dotted(path)}.rst": module_page(path, names) for path in tree().paths if tree().names[path]}
    return {**found, "modules.rst": index_page()}


def title(text: str) -> str:
    """Return a title with its underline."""
    shown = text.replace("\\", "\\\\").replace("_", "\\_").replace("*", "\\*")
    return f"{shown}\n{'=' * len(shown)}\n"


def entry_page(entry: Entry, names: dict) -> str:
    """Return the page of a class or function."""
    head = [":orphan:", "", title(entry.full_name), _place_of(entry), ""]
    signatures = entry.signatures or [None]
    first, *others = [entry.full_name + (s.text if s else "") for s in signatures]
    directive = f".. py:{'class' if entry.is_class else 'function'}:: "
    body = [directive + first, *[" " * len(directive) + other for other in others], ""]
    text = rendered(entry.doc) if entry.doc else ""
    if entry.bases:
        text += "\nBases: " + ", ".join(_link(base, names) for base in entry.bases) + "\n"
    body += _indented(text)
    for member in entry.members:
        body += _member(member)
    if entry.aliases:
        body += ["Other names: " + ", ".join(f"``{alias}``" for alias in entry.aliases), ""]
    return "\n".join([*head, *body])


def _place_of(entry: Entry) -> str:
    """Return the line that leads to the module and to the source."""
    source = source_of(entry.thing)
    text = f"Module :doc:`{dotted(entry.path)} </generated/modules/{dotted(entry.path)}>`"
    return f"{text} · source :source:`{source[0]}:{source[1]}`" if source else text


def _member(member) -> list:
    if member.is_property:
        head = [f"   .. py:property:: {member.name}", ""]
    else:
        first, *others = [member.name + s.text for s in member.signatures]
        directive = "   .. py:method:: "
        head = [directive + first, *[" " * len(directive) + other for other in others]]
        head += [f"      :{m}:" for m in member.signatures[0].modifiers if m in ("classmethod", "staticmethod")] + [""]
    return head + _indented(rendered(member.doc) if member.doc else "", 6)


def _indented(text: str, by: int = 3) -> list:
    return [" " * by + line if line else "" for line in text.splitlines()] + [""]


def _link(thing, names) -> str:
    return f":doc:`{entries()[thing].full_name} </generated/reference/{names[thing]}>`"


def module_page(path: str, names: dict) -> str:
    """Return the page of a module: its classes, functions and other names, each with its first sentence."""
    module = tree().modules[path]
    found: dict = {"Modules": [], "Classes": [], "Functions": [], "Other names": []}
    for name, thing in tree().names[path].items():
        if isinstance(thing, types.ModuleType):
            below = f"{path}.{name}".lstrip(".")
            if below in tree().names and tree().names[below]:
                found["Modules"].append((f":doc:`{dotted(below)} </generated/modules/{dotted(below)}>`",
                                         summary_of(own_doc(tree().modules[below]))))
        elif isinstance(thing, (type, types.FunctionType)) and thing in names:
            group = "Classes" if isinstance(thing, type) else "Functions"
            found[group].append((f":doc:`{name} </generated/reference/{names[thing]}>`", summary_of(own_doc(thing))))
        else:
            found["Other names"].append((f"``{name}``", _value_text(thing)))
    out = [":orphan:", "", title(dotted(path)), f".. py:module:: {dotted(path)}"]
    if dotted(path) in {entry.full_name for entry in entries().values()}:
        out.append("   :no-index:")         # a module and a function of one name, such as `autograd.gradcheck`
    # The docstring of a package says more about its source, to those who change it.
    doc = own_doc(module)
    out += ["", rendered(doc.partition("\n\n")[0] if hasattr(module, "__path__") else doc)]
    for group, rows in found.items():
        if rows:
            out += [f".. rubric:: {group}", "", ".. list-table::", "   :widths: 30 70", "   :class: names", ""]
            for link, text in rows:
                out += [f"   * - {link}", f"     - {inline(text) or '..'}"]
            out.append("")
    return "\n".join(out)


def _value_text(thing) -> str:
    if callable(thing) and not isinstance(thing, type):
        text = summary_of(own_doc(thing)) or f"A callable of the class `{type(thing).__name__}`."
        return text
    if isinstance(thing, type):
        return f"The class `{thing.__module__}.{thing.__qualname__}`."
    shown = repr(thing)
    if " at 0x" in shown or len(shown) > 60 or "\n" in shown:
        return f"An object of the class `{type(thing).__name__}`."
    return f"The value `{shown}`." if "`" not in shown else "A constant."


def index_page() -> str:
    """Return the list of modules by subject."""
    listed = {path for paths in GROUPS.values() for path in paths}
    rest = [path for path in tree().paths if path not in listed and tree().names[path]]
    out = [":orphan:", "", title("Modules")]
    for group, paths in GROUPS.items():
        out += [f".. rubric:: {group}", "", ".. list-table::", "   :widths: 30 70", "   :class: names", ""]
        for path in paths or rest:
            text = inline(summary_of(inspect.getdoc(tree().modules[path]) or ""))
            out += [f"   * - :doc:`{dotted(path)} </generated/modules/{dotted(path)}>`", f"     - {text or '..'}"]
        out.append("")
    return "\n".join(out)
