"""The disk cache: nothing that another user can change is run; its size is bounded, whatever the processes and the clock do."""

import ctypes
import os
import stat
import subprocess
import sys
import time
import warnings
from typing import NamedTuple

import pytest

from ingot.ir import config
from ingot.runtime.cpu.compiler import cache, private_folder
from ingot.runtime.cpu.compiler import compile as compiler
from ir_modules import count_module

needs_owners = pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX")
MINE, OTHER = b"mine", b"planted"
DAYS = 24 * 3600


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """Set up an empty cache folder for this test, in all threads of this process."""
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(cache._State, "warned", False)
    return tmp_path / "cache"


def file_of(folder, key, kind="o"):
    return folder / key[:2] / f"{key}.{kind}"


def test_an_entry_names_its_compiler(cache_folder):
    assert cache.load("ef56") is None
    assert cache.store("ef56", b"payload", "llvmlite-1.2")
    assert cache.load("ef56") == (b"payload", "llvmlite-1.2")


# --- what another user could have planted ---
class Planted(NamedTuple):
    """A way to put an entry under the name "abkey"; `says` is in the warning, if there is one."""

    name: str
    plant: object
    says: str = ""


def planted(folder, key="abkey"):
    """Return the file of an entry, made by the cache elsewhere, whose place it takes."""
    away = folder.parent / "away"
    keep, cache.folder = cache.folder, lambda: away
    cache.store(key, OTHER)
    cache.folder = keep
    return file_of(away, key)


def by_link(folder):
    file_of(folder, "abkey").unlink()
    file_of(folder, "abkey").symlink_to(planted(folder))


def by_linked_part(folder):
    file_of(folder, "abkey").unlink()
    (folder / "ab").rmdir()
    (folder / "ab").symlink_to(planted(folder).parent)


def by_pipe(folder):
    file_of(folder, "abkey").unlink()
    os.mkfifo(file_of(folder, "abkey"))


def by_name(folder):
    cache.store("abother", OTHER)
    os.replace(file_of(folder, "abother"), file_of(folder, "abkey"))


def by_kind(folder):
    cache.store("abkey", OTHER, kind="sum")
    os.replace(file_of(folder, "abkey", "sum"), file_of(folder, "abkey"))


def with_mode(mode, where):
    def plant(folder):
        os.replace(planted(folder), file_of(folder, "abkey"))
        os.chmod({"root": folder, "part": folder / "ab", "file": file_of(folder, "abkey")}[where], mode)
    return plant


def with_owner(where):
    def plant(folder):
        os.replace(planted(folder), file_of(folder, "abkey"))
        if os.getuid():
            pytest.skip("only root can give files away")
        os.chown({"root": folder, "part": folder / "ab", "file": file_of(folder, "abkey")}[where], 12345, -1)
    return plant


PLANTED = [Planted(*row) for row in (
    ("a link to a file", by_link), ("a link to a folder", by_linked_part), ("a pipe", by_pipe, "is not a file"),
    ("the file of another key", by_name), ("the file of another kind", by_kind),
    *[(f"{where} that {users} may write", with_mode(mode, where), "chmod go-w")
      for where in ("root", "part", "file") for users, mode in (("all", 0o777), ("a group", 0o770), ("others", 0o702))],
    *[(f"{where} of another user", with_owner(where), "belongs to user 12345") for where in ("root", "part", "file")],
)]


@needs_owners
@pytest.mark.parametrize("row", PLANTED, ids=lambda row: row.name)
def test_nothing_planted_is_loaded(cache_folder, row):
    assert cache.store("abkey", MINE)
    row.plant(cache_folder)
    if row.says:
        with pytest.warns(RuntimeWarning, match=row.says):
            assert cache.load("abkey") is None
    else:
        assert cache.load("abkey") is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if cache.store("abkey", MINE):          # what can be trusted again, is; a link is replaced, not followed
            assert cache.load("abkey") == (MINE, "")
        away = file_of(cache_folder.parent / "away", "abkey")
        assert not away.exists() or OTHER in away.read_bytes()


@needs_owners
def test_a_root_that_others_may_write_is_reported(cache_folder):
    cache.store("abkey", MINE)
    assert cache.problem() is None
    cache_folder.chmod(0o777)
    assert "mode 0777" in cache.problem() and f"chmod go-w {cache_folder}" in cache.problem()
    with pytest.warns(RuntimeWarning, match="not used.*INGOT_CACHE_DIR.*compiled again"):
        assert not cache.store("abkey", MINE)


@needs_owners
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o277])
def test_folders_and_files_are_private_whatever_the_umask(tmp_path, monkeypatch, mask):
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "a" / "b" / "cache")
    before = os.umask(mask)
    try:
        stored = cache.store("abkey", MINE)
    finally:
        os.umask(before)
    assert stored or mask & 0o200
    for path in (tmp_path / "a").rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    assert not stat.S_IMODE((tmp_path / "a").stat().st_mode) & 0o077


@needs_owners
def test_a_cache_behind_a_link_of_the_user_is_used(cache_folder):
    cache.store("abkey", MINE)
    cache_folder.rename(cache_folder.parent / "disk")
    cache_folder.symlink_to(cache_folder.parent / "disk")
    assert cache.load("abkey") == (MINE, "") and cache.store("cdkey", MINE)
    assert file_of(cache_folder.parent / "disk", "cdkey").exists()


# --- disks ---
@needs_owners
def test_an_unwritable_cache_warns_once(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setattr(cache._State, "warned", False)
    with config.override(cache_dir=str(blocked / "cache")):
        with pytest.warns(RuntimeWarning, match="INGOT_CACHE_DIR"):
            assert not cache.store("ab12", b"data")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not cache.store("ab13", b"data")
        assert ctypes.CFUNCTYPE(ctypes.c_int64)(compiler.compile_module(count_module(8), ["tag"])["tag"])() == 8


def test_a_full_disk_leaves_no_rubbish(cache_folder, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache._State, "warned", True)
    monkeypatch.setattr(os, "replace", full)
    assert not cache.store("cd34", b"data")
    assert not [path for path in cache_folder.rglob("*") if path.is_file()]


# --- size ---
def bytes_of(folder):
    return sum(path.stat().st_size for path in folder.glob("??/*"))


def test_the_least_recently_used_entries_are_removed(cache_folder):
    now = time.time()
    for number in range(10):
        cache.store(f"{number:02d}key", bytes(1000))
        os.utime(file_of(cache_folder, f"{number:02d}key"), (now - DAYS + number,) * 2)
    assert cache.load("00key") == (bytes(1000), "")         # a hit makes it the most recent
    cache.trim(6000)
    left = sorted(path.name for path in cache_folder.glob("??/*"))
    assert "00key.o" in left and "01key.o" not in left and 2 <= len(left) <= 6
    assert cache.clear() == len(left) and cache.info()["entries"] == 0


def test_entries_are_bounded_in_number(cache_folder, monkeypatch):
    monkeypatch.setattr(cache, "MOST_ENTRIES", 10)
    for number in range(11):
        cache.store(f"{number:02d}key", b"x")
        os.utime(file_of(cache_folder, f"{number:02d}key"), (1000 + number, 1000 + number))
    cache.store("99key", b"x")
    assert len(list(cache_folder.glob("??/*"))) <= 10


@pytest.fixture
def counts(cache_folder, monkeypatch):
    """Store so many entries of a size; return how often all entries were counted."""
    found, seen = cache._entries, []
    monkeypatch.setattr(cache, "_entries", lambda root: seen.append(1) or found(root))

    def store(stores, size=1):
        seen.clear()
        for number in range(stores):
            cache.store(f"{number:04d}{size}", bytes(size))
        return len(seen)
    return store


def test_the_cache_is_counted_once_an_hour(cache_folder, counts):
    assert [counts(1), counts(3), counts(12)] == [1, 0, 0]
    for moment in (time.time() - 4000, time.time() + 4000):
        (cache_folder / "usage").write_bytes(cache._COUNTS.pack(16, 1000, moment))
        assert [counts(1), counts(1)] == [1, 0]


@pytest.mark.parametrize("damage", [b"", b"short", bytes(24), b"\xff" * 24, b"\x7f" * 100])
def test_a_damaged_count_is_counted_anew(cache_folder, counts, damage):
    counts(3)
    (cache_folder / "usage").write_bytes(damage)
    assert counts(2) == 1 and counts(2) == 0


def test_cache_counts_are_few_however_much_is_stored(counts, monkeypatch):
    """A count looks at all entries: one after each so many stores would take quadratic time."""
    monkeypatch.setattr(cache, "MOST_ENTRIES", 100)
    assert 2 <= counts(250) <= 12


def test_the_cap_holds_at_every_moment(cache_folder, monkeypatch):
    monkeypatch.setattr(cache, "_cap", lambda: 50_000)
    for number in range(40):
        cache.store(f"{number:04d}", bytes(3000))
        assert bytes_of(cache_folder) <= 50_000


BURST = """
import sys
from ingot.runtime.cpu.compiler import cache
cache._cap = lambda: 50_000
for number in range(30):
    cache.store(f"{number:02d}of" + sys.argv[1], bytes(3000))
"""


def test_the_cap_holds_when_processes_store_at_once(tmp_path):
    running = [subprocess.Popen([sys.executable, "-c", BURST, str(number)],
                                env={**os.environ, "INGOT_CACHE_DIR": str(tmp_path)}) for number in range(3)]
    assert [process.wait(100) for process in running] == [0] * 3
    assert 10_000 < bytes_of(tmp_path) <= 50_000


@pytest.mark.parametrize("days", [-400, 400])
def test_a_wrong_clock_neither_fills_nor_empties_the_cache(cache_folder, monkeypatch, days):
    monkeypatch.setattr(cache, "_cap", lambda: 50_000)
    moment = time.time() + days * DAYS
    for number in range(12):
        cache.store(f"{number:02d}old", bytes(3000))
        os.utime(file_of(cache_folder, f"{number:02d}old"), (moment, moment))
    for number in range(12):
        cache.store(f"{number:02d}new", bytes(3000))
    assert cache.load("11new") and cache.load("00new")
    assert bytes_of(cache_folder) <= 50_000


@pytest.mark.parametrize("days", [-1, 1])
def test_temporary_files_of_killed_processes_are_removed(cache_folder, days):
    cache.store("abkey", MINE)
    left, fresh = (cache_folder / "ab" / f"{private_folder.TEMPORARY}{name}" for name in ("left", "fresh"))
    left.write_bytes(b"half")
    fresh.write_bytes(b"half")
    os.utime(left, (time.time() + days * DAYS,) * 2)
    cache.trim()
    assert not left.exists() and fresh.exists()
