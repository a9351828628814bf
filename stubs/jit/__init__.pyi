from . import annotations as annotations
