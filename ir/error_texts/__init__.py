"""Texts of errors: signatures of calls that Python refuses, and tracebacks without frames of ingot.

Way in: `explain_call` and `explained` (of functions that name themselves in errors of what they call), `call_error` and
`unknown_keyword` (of refused arguments), `shown_errors.install` (once, for uncaught errors of threads and programs). Errors
keep their classes and arguments. It must not know operators.
"""
