"""Every error that ingot raises: one tree, each with the builtin base that users catch.

Builtin bases stand in parentheses:

    IngotError
    ├── ShapeError(RuntimeError, ValueError)  sizes that do not fit together
    ├── DTypeError(TypeError, RuntimeError)   a dtype that an operator does not take; arguments of the wrong type
    ├── ArgumentError(RuntimeError, ValueError)  a value outside of what an argument allows
    │   └── MissingKeyError(KeyError)  a dictionary without a key that belongs there
    ├── DimError(IndexError, RuntimeError)    a dimension or an index out of range
    ├── LinAlgError(RuntimeError, ValueError)  a matrix that cannot be inverted or factored as asked
    ├── AutogradError(RuntimeError)    differentiation that cannot be done as asked
    ├── DeviceError(RuntimeError)      a device that is missing, full or does not fit
    │   └── OutOfMemoryError(MemoryError)     memory for a result could not be had
    ├── DistError(RuntimeError)        communication between processes (`runtime/distributed/stores/distributed_errors.py`)
    ├── GraphError(RuntimeError)       an IR graph that breaks a rule, or text that does not parse
    └── FileError(RuntimeError, pickle.UnpicklingError)  a file that is damaged, foreign or not allowed
        └── EmptyFileError(EOFError)   a file in which there is nothing
"""

import errno
import pickle

NEW_ERRORS: list = []       # functions that are called before an error is made
_OF_PYTHON = 1 << 9         # the flag of classes that a `class` statement makes


class IngotError(Exception):
    """Base of all errors that ingot raises on purpose."""

    is_of_earlier_call = False          # found on a device, and raised by a later call that reads from there
    is_of_values = False                # found among values: a replay raises it as well, and knows the operator alone

    def __new__(cls, *args, **kwargs):
        for notice in NEW_ERRORS:
            notice()
        builtin = cls
        while builtin.__flags__ & _OF_PYTHON:
            builtin = builtin.__base__      # type: ignore[assignment]
        return builtin.__new__(cls, *args, **kwargs)        # (only the builtin class that lays the object out may make it)


class ShapeError(IngotError, RuntimeError, ValueError):
    """Sizes that do not fit together."""


class DTypeError(IngotError, TypeError, RuntimeError):
    """A dtype that an operator does not take, or an argument of the wrong type."""


class NoTensorError(DTypeError):
    """An argument that is something else where a tensor belongs."""


class NoNumberError(NoTensorError, AttributeError):
    """An operand that is neither a tensor nor a number; public functions catch it as an AttributeError and name the argument
    `obj`."""

    def __init__(self, message, obj=None):
        AttributeError.__init__(self, message, name="dtype", obj=obj)

    @classmethod
    def of(cls, x):
        return cls(f"a tensor or a number belongs here, got {kind_of(x)}", x)


class ArgumentError(IngotError, RuntimeError, ValueError):
    """A value outside of what an argument allows."""


class MissingKeyError(ArgumentError, KeyError):
    """A dictionary without a key that belongs there."""

    __str__ = Exception.__str__         # KeyError quotes


class DimError(IngotError, IndexError, RuntimeError):
    """A dimension or an index out of range."""


class LinAlgError(IngotError, RuntimeError, ValueError):
    """A matrix that cannot be inverted or factored as asked."""


class AutogradError(IngotError, RuntimeError):
    """Differentiation that cannot be done as asked."""


class DeviceError(IngotError, RuntimeError):
    """A device that is missing, full or does not fit."""


class OutOfMemoryError(DeviceError, MemoryError):
    """Memory for a result could not be had."""


class DistError(IngotError, RuntimeError):
    """Base of the errors of `ingot.distributed`."""


class GraphError(IngotError, RuntimeError):
    """An IR graph that breaks a rule, or text that does not parse."""


class FileError(IngotError, RuntimeError, pickle.UnpicklingError):
    """A file that is damaged, foreign or not allowed."""


class EmptyFileError(FileError, EOFError):
    """A file in which there is nothing."""


def in_words_of(name: str, error: IngotError, operator: str) -> IngotError:
    """Return the error of an operator under the name of the function that was called."""
    text = str(error)
    return type(error)(name + text.removeprefix(operator)) if text.startswith(operator) else error


def kind_of(x) -> str:
    """Return the class name of a refused argument for messages, with its package where that is not ingot."""
    kind = type(x)
    package = kind.__module__.partition(".")[0]
    if package in ("builtins", __package__.partition(".")[0]):
        return kind.__name__
    answers = hasattr(kind, "__torch_function__") and package != "torch" and not hasattr(kind, "aval")
    hint = f" (write @ingot.overrides.asks over {kind.__name__} to have its __torch_function__ asked)" if answers else ""
    return f"{'' if package == '__main__' else f'{package}.'}{kind.__name__}{hint}"


# Memory that ran out: NumPy names a size, Python's own MemoryError is empty, and a library that cannot be mapped is an OSError.

MEMORY_HINT = "make the tensors smaller, or free some with del"
_OF_LOADER = "cannot allocate memory", "failed to map segment"      # of the dynamic loader of libraries (glibc, musl)


def out_of_memory(problem: str) -> OutOfMemoryError:
    """Return the error for memory that could not be had."""
    return OutOfMemoryError(f"{problem}; {MEMORY_HINT}")


def is_lack_of_memory(error: BaseException) -> bool:
    """Return whether an error, or one that it came from, arose because no memory was left."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    if isinstance(error, (OSError, ImportError)) and any(text in str(error).lower() for text in _OF_LOADER):
        return True
    inner = error.__cause__ or error.__context__
    return inner is not None and is_lack_of_memory(inner)
