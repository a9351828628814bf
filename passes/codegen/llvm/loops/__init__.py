"""Loop nests from `ir/kernel`: `strategies.write` picks the module that writes a kernel, every strategy has `write(module,
kernel)`, and `programs` joins many kernels into one native call.

One reduction tree (`reduce`) for all layouts and thread counts, so all strategies give the same bits.
"""
