"""Random modules of Python state for fuzzing traces, and one module's life: called, changed from outside, called again.

`generate.source(seed)` is the text of a module: `fn` is traced, `args(i)` are its arguments at call i, `turn(i)` changes state
before that call. `follow(i, given, result)`, if there is one, uses what went in and came out. `places.py` lists where state
lives, `uses.py` what code does with it: both are tables of templates. `life.py` runs a module eagerly and traced and compares
all that can be seen. `reduce.py` drops statements while a failure remains.

`borders.source(seed)` is a module about tensors that cross the border of a call: views, writes, histories, aliases.

    python -m fuzzed_modules 0 2000              # the seeds; prints reduced failures and counts
    python -m fuzzed_modules 0 2000 borders
"""
