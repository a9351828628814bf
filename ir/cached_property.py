"""`cached_property` without a lock, as Python has it from 3.12 on.

The lock of Python 3.11 belongs to the property, not to the object: threads wait for each other's objects, and a process forked
meanwhile waits for ever.
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:
    class cached_property:
        """A property that is computed at its first use; two threads may both compute it."""

        def __init__(self, func):
            self.func, self.__doc__, self.attrname = func, func.__doc__, None

        def __set_name__(self, owner, name):
            self.attrname = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value

__all__ = ["cached_property"]
