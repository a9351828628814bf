"""Descriptions of traced functions for people: explanations, kernel profiles, the HTML page, nan checks.

Way in: `explain`, `profile`, `debug`, `works_of`, `announce`. Every description is built from `works_of`. It changes nothing,
and it is given jobs: it must not import the room that compiles them.
"""
