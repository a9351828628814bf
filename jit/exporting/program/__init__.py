"""`ingot.export`: exported programs under the names of PyTorch's module.

Way in: `export`, `ExportedProgram`, `Dim`, `unflatten`. A program is an `.ingot` file with views on it. It adds no recording of
its own.
"""
