"""vmap: functions of one sample run once for a whole batch. `level.py` is the mechanism, `rules.py` says it of operators."""
