"""A slow network between two network namespaces of this machine: a relay of packets with delay, loss and a limited rate.

Each namespace has one device, and a relay holds the other ends of both. Linux lets root make them. The relay is a process of
its own (`python slow_network.py ...`).
"""

import contextlib
import ctypes
import fcntl
import heapq
import os
import random
import select
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

ADDRESSES, DEVICE = ("10.77.0.1", "10.77.0.2"), "slow0"
_CLONE_NEWNET, _TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x4000_0000, 0x4004_54CA, 1, 0x1000
_LONGEST_QUEUE = 0.5        # seconds of packets that wait for their turn, before more are dropped
_PACKET = 65_536


def _call(*words, **options):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, **options)


class SlowNetwork:
    """Two namespaces and the relay between them, for the time of a `with` block."""

    def __init__(self, delay: float, loss: float, rate: float):
        """Take the seconds that a packet needs, the share that is lost, and bytes per second in each direction."""
        self.names = [f"ingot-{os.getpid()}-{side}" for side in "ab"]
        self._order = [str(delay), str(loss), str(rate)]

    def __enter__(self):
        if shutil.which("ip") is None:
            pytest.skip("there is no program `ip` (package iproute2)")
        if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
            pytest.skip("/dev/net/tun cannot be opened here")
        with contextlib.ExitStack() as undo:
            for name in self.names:
                made = _call("ip", "netns", "add", name)
                if made.returncode:
                    pytest.skip(f"network namespaces cannot be made here: {made.stderr.strip()}")
                undo.callback(_call, "ip", "netns", "del", name)
            relay = subprocess.Popen([sys.executable, __file__, *self.names, *self._order], stdout=subprocess.PIPE, text=True)
            undo.callback(relay.wait)
            undo.callback(relay.terminate)
            undo.callback(relay.stdout.close)
            assert relay.stdout.readline() == "ready\n"
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_):
        self._undo.close()

    def inside(self, side: int, *words) -> list:
        """Return a command that runs words in a namespace."""
        return ["ip", "netns", "exec", self.names[side], *map(str, words)]


class _Direction:
    """Packets on their way from one device to the other."""

    def __init__(self, source: int, target: int, delay: float, loss: float, rate: float):
        self.source, self.target, self._delay, self._loss, self._rate = source, target, delay, loss, rate
        self._free = 0.0                    # when the line has sent all packets so far
        self._draw = random.Random(source)

    def take(self, now: float) -> list:
        """Read a packet; return (time of its arrival, device, packet), or nothing if it is lost."""
        packet = os.read(self.source, _PACKET)
        if self._draw.random() < self._loss or self._free - now > _LONGEST_QUEUE:
            return []
        self._free = max(self._free, now) + len(packet) / self._rate
        return [(self._free + self._delay, self.target, packet)]


def _device(namespace: str, address: str) -> int:
    """Make the device of a namespace; return the descriptor of its other end."""
    with open(f"/run/netns/{namespace}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
    for words in (f"addr add {address}/24 dev {DEVICE}", f"link set {DEVICE} up", "link set lo up"):
        subprocess.run(["ip", *words.split()], check=True)
    return fd


def _relay(names, delay: float, loss: float, rate: float):
    """Carry packets until the process is ended."""
    first, second = (_device(name, address) for name, address in zip(names, ADDRESSES))
    ways = [_Direction(first, second, delay, loss, rate), _Direction(second, first, delay, loss, rate)]
    waiting: list = []
    print("ready", flush=True)
    while True:
        limit = None if not waiting else max(0.0, waiting[0][0] - time.monotonic())
        ready = select.select([first, second], [], [], limit)[0]
        for way in ways:
            if way.source in ready:
                for packet in way.take(time.monotonic()):
                    heapq.heappush(waiting, packet)
        while waiting and waiting[0][0] <= time.monotonic():
            os.write(waiting[0][1], waiting[0][2])
            heapq.heappop(waiting)


def remote_shell(folder: Path, network: SlowNetwork) -> Path:
    """Write a program that a launcher calls like `ssh host command`, for the second namespace."""
    path = folder / "remote_shell"
    path.write_text('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nshift\n'
                    f'exec {" ".join(network.inside(1))} sh -c "$*"\n')
    path.chmod(0o700)
    return path


if __name__ == "__main__":
    _relay(sys.argv[1:3], *map(float, sys.argv[3:6]))
