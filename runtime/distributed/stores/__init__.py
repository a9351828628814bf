"""Stores: small tables that all processes of a run see, by which they find each other. Also errors, sockets, proofs of trust.

Way in: `store.Store`, `tcp_store.TCPStore`, `local_store.LocalStore`, `meeting.meet`.
"""
