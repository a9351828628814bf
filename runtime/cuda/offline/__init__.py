"""Plans for a GPU that this machine need not have, such programs on a real one, and their costs.

Way in: `planning.Planner`, `ready.ReadyProgram`, `cost_model.Ledger`. The recording driver computes nothing, so sizes may be
any.
"""
