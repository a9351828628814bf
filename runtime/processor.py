"""`ingot.cpu`: the questions that programs ask of any kind of device, with the processor's plain answers."""

__all__ = ["Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available", "is_initialized",
           "set_device", "stream", "synchronize"]


class Stream:
    """A stand-in for a queue of work: the processor's is done when a call returns."""

    def __init__(self, priority: int = -1):
        pass

    def synchronize(self) -> None:
        """Does nothing: there is nothing to wait for."""

    def wait_stream(self, stream) -> None:
        """Does nothing: there is nothing to wait for."""


_STREAM = Stream()


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1"""
    return 1


def current_device() -> str:
    """'cpu'"""
    return "cpu"


def set_device(device) -> None:
    """Does nothing: there is one."""


def synchronize(device=None) -> None:
    """Does nothing: work is done when a call returns."""


def current_stream(device=None) -> Stream:
    """The one stream there is."""
    return _STREAM


class StreamContext:
    """Does nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return self.stream

    def __exit__(self, *exc):
        pass


def stream(stream):
    """Does nothing."""
    return StreamContext(stream)
