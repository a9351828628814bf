"""Exported models: graphs in files, which run without the model's code, without LLVM, without Python.

    export   writes a function or module to an `.ingot` file and checks the file against eager
    load     reads one: a callable
    to_c     writes a header, an object and a shared library
"""
