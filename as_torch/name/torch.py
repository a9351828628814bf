"""What `import torch` finds in processes that a program under ingot's `as_torch` starts: it puts ingot in its own place."""

import importlib

importlib.import_module("ingot.as_torch")
