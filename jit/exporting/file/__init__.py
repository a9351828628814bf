"""The `.ingot` file: write, check against eager, load.

Way in: `export`, `load`, `Reader`. A file takes its place only after it gave what eager gives. A loaded model needs neither
the model's code nor LLVM. It must not know PyTorch's `ExportedProgram`.
"""
