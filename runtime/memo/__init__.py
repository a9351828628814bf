"""Repeated calls: a function called again with the same kinds of arguments runs the operators of its first call directly.

Way in: `call_recorder.first_call`, `view_memo.viewing`, and `call_recorder.call_threshold`, the count of calls from which
compiling pays. An entry is used only if all that its call depended on is the same.
"""
