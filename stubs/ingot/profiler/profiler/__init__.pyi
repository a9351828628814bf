"""`ingot.profiler`: the time of a program, operator by operator, in the format of PyTorch's profiler."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.profiler import ProfilerAction as ProfilerAction
from ingot.profiler import ProfilerActivity as ProfilerActivity
from ingot.profiler import kineto_available as kineto_available
from ingot.profiler import profile as profile
from ingot.profiler import record_function as record_function
from ingot.profiler import schedule as schedule
from ingot.profiler import supported_activities as supported_activities
from ingot.profiler import tensorboard_trace_handler as tensorboard_trace_handler
