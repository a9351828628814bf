"""Plan for a GPU that this machine need not have, run such a program, and count its cost.

Way in: `planning.Planner`, `ready.ReadyProgram`, `cost_model.Ledger`. The recording driver computes nothing, so sizes may be
any.
"""
