"""Models exported as graphs in files. They run without the model's code, without LLVM and, as C libraries, without Python.

    `export`   write a function or module to an `.ingot` file, and check the file against eager
    `load`     read such a file: a callable
    `to_c`     write a header, an object and a shared library
"""
