"""Repeated calls: a function called again with the same kinds of arguments runs the operators of its first call directly.

Way in: `call_memo.first_call`, `view_memo.viewing`, and `compile_threshold`, which counts calls until compiling pays. An entry
is used only if all that its call depended on is the same.
"""
