"""The module `torch` in child processes of a program under `as_torch`: it puts ingot in its place."""

import importlib

importlib.import_module("ingot.as_torch")
