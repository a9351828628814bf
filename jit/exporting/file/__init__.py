"""The `.ingot` file: write, check against eager, load.

Way in: `export`, `load`, `Reader`. A file takes its place only after it gave eager's results. A loaded model needs neither the
model's code nor LLVM. A graph that is one native call is stored as an image: loading it plans nothing and imports neither LLVM
nor passes. Under a recorder, vmap or gradients a model calls its operators instead (`model.run_operators`), because compiled
code reads arrays past dispatch. This room knows no API of PyTorch.
"""
