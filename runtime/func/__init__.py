"""vmap: functions of one sample run once for a whole batch. `vmap_level.py` is the mechanism, `sharding_rules.py` says it of
operators."""
