"""Loop nests written from `ir/kernel`.

Way in: `strategies.write` writes a kernel by the strategy for its strides, `strategies.suited` names the best one for given
sizes, and `programs` joins kernels into one native call. All strategies use one reduction tree (`reduce`), so results have the
same bits for all layouts and thread counts. `streaming` stores past the caches, never where a run writes over what it reads.
"""
