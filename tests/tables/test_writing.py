"""Every file is written whole or not at all, with the permissions of what it replaces."""

from __future__ import annotations

import errno
import os
import signal
import stat
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from truerank.tables import writing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions and processes of POSIX")

RANKS = tr.Ranks([0], [1], 5)


DOORS: dict[str, Callable[[Path], object]] = {
    "ranks": RANKS.save,
    "counter": tr.RankCounter(np.ones(1, np.float32), 0, candidates=3).save,
}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.write_bytes(b"old")
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# -- permissions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [0o600, 0o640, 0o755])
def test_the_mode_of_what_is_replaced_is_kept(before: int, target: Path) -> None:
    """Also where a link leads to it, which stays."""
    link = target.with_name("link")
    link.symlink_to("target")
    for path in (target, link):
        target.write_bytes(b"old")
        target.chmod(before)
        RANKS.save(path)
        assert (target.read_bytes() == b"old", mode(target)) == (False, before)
    assert link.is_symlink()
    assert sorted(os.listdir(target.parent)) == ["link", "target"]


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_follows_the_umask(mask: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        RANKS.save(tmp_path / "new")
    finally:
        os.umask(before)
    assert mode(tmp_path / "new") == 0o666 & ~mask


def test_nobody_else_reads_the_temporary_file(target: Path) -> None:
    target.chmod(0o600)
    with writing.replace_file(target) as file:
        (temporary,) = set(target.parent.iterdir()) - {target}
        assert mode(temporary) == 0o600
        file.write(b"new")
    assert target.read_bytes() == b"new"


def not_permitted(*_: object) -> None:
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.mark.parametrize(
    ("before", "after"), [(0o660, 0o600), (0o664, 0o644), (0o640, 0o600), (0o666, 0o666)]
)
def test_a_group_that_cannot_be_kept_leaves_no_permissions_to_another(
    target: Path, before: int, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.chmod(before)
    try:
        os.chown(target, -1, target.stat().st_gid + 1)
    except OSError:
        pytest.skip("the group of a file can be changed by root alone")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fchown", not_permitted)
        RANKS.save(target)
    assert mode(target) == after


def test_owner_and_group_are_kept(target: Path) -> None:
    try:
        os.chown(target, 1234, 5678)
    except OSError:
        pytest.skip("the owner of a file can be changed by root alone")
    target.chmod(0o640)
    RANKS.save(target)
    found = target.stat()
    assert (found.st_uid, found.st_gid, mode(target)) == (1234, 5678, 0o640)


def access_list(user: int, group_object: int, others: int) -> bytes:
    """Return an access list in the kernel's form: owner, user 99, group, mask, others."""
    entries = [(1, 6, -1), (2, user, 99), (4, group_object, -1), (16, 6, -1), (32, others, -1)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)


def test_an_access_list_is_kept(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "system.posix_acl_access"
    try:
        os.setxattr(target, name, access_list(6, 0, 0))
    except (AttributeError, OSError) as error:
        pytest.skip(f"no access lists: {error}")
    before = os.getxattr(target, name)
    assert mode(target) == 0o660  # the mask, not the permissions of the group
    RANKS.save(target)
    assert (os.getxattr(target, name), mode(target)) == (before, 0o660)
    with monkeypatch.context() as patch:
        patch.setattr(os, "setxattr", not_permitted)
        RANKS.save(target)
    assert mode(target) == 0o600
    assert name not in os.listxattr(target)


def test_a_file_system_without_modes(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target.chmod(0o644)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fchmod", not_permitted)
        RANKS.save(target)
    assert tr.load(target) == RANKS
    assert mode(target) == 0o600  # less than before rather than more


@pytest.mark.parametrize("door", DOORS)
def test_a_file_that_may_not_be_written_is_not_replaced(
    door: str, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # root may write anything
    refusal(PermissionError, "target", DOORS[door], target)
    assert target.read_bytes() == b"old"
    assert os.listdir(target.parent) == ["target"]


# -- places ----------------------------------------------------------------------------------------


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    refusal(OSError, r"[ab]'$", RANKS.save, tmp_path / "a")
    assert (tmp_path / "a").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_names_of_any_length(tmp_path: Path) -> None:
    for name in ("x" * 255, "é" * 127, "\N{GRINNING FACE}" * 63, "a" * 40, "a" * 41):
        RANKS.save(tmp_path / name)
        assert os.listdir(tmp_path) == [name]
        (tmp_path / name).unlink()
    with pytest.raises(OSError, match=f"{'x' * 256}'$") as caught:
        RANKS.save(tmp_path / ("x" * 256))
    assert caught.value.errno == errno.ENAMETOOLONG
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("path", ["", "a\0b", b"absent/", 3, None, ["a"]])
def test_what_is_no_path(door: str, path: Any) -> None:
    refusal(tr.InputError, "path: expected the path of a file, got ", DOORS[door], path)


# -- full disks ------------------------------------------------------------------------------------

# A limit on the size of files stands for a full disk: both fail in the middle of a write.
LIMITED = """
import resource, sys
import numpy as np
import truerank as tr

folder = sys.argv[1]
zeros = np.zeros(100_000, np.int64)
doors = {
    "ranks": lambda path: tr.Ranks(zeros, zeros + 1, 5).save(path),
    "counter": lambda path: tr.RankCounter(zeros, 0, candidates=5).save(path),
}
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
for name, door in doors.items():
    try:
        door(f"{folder}/{name}")
    except OSError as error:
        print(name, error.errno, error.filename == f"{folder}/{name}", str(error).count(folder))
"""


def test_a_full_disk_is_an_error_that_names_the_file(
    run_python: Callable[..., str], tmp_path: Path
) -> None:
    done = run_python(LIMITED, tmp_path)
    names = ("ranks", "counter")
    assert done.splitlines() == [f"{name} {errno.EFBIG} True 1" for name in names]
    assert os.listdir(tmp_path) == []


# -- killed processes ------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from truerank.tables import writing

with writing.replace_file(sys.argv[1]) as file:
    file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_a_writer(path: Path) -> Path:
    """Kill a process that writes a file, and return what it leaves."""
    before = set(path.parent.iterdir())
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = set(path.parent.iterdir()) - before
    return left


def test_what_a_killed_process_left_is_removed_by_the_next_save(tmp_path: Path) -> None:
    if writing._system() == "unknown":
        pytest.skip("this system does not tell its boot")
    for name in ("ranks.npz", "x" * 200):
        path = tmp_path / name
        left = kill_a_writer(path)
        assert left.name.startswith(f".{name[:31]}")
        RANKS.save(tmp_path / "other")
        assert left.exists()  # it belongs to another path
        RANKS.save(path)
        assert not left.exists()
        assert sorted(os.listdir(tmp_path)) == sorted([name, "other"])
        path.unlink()


def test_what_may_belong_to_a_living_process_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ranks"
    dead = kill_a_writer(path).name
    *start, pid, _ = dead.split("-")
    system = start[-1]
    names = {
        f".ranks.truerank-{system}-{os.getpid()}-01234567.tmp",  # this process
        f".ranks.truerank-{system}-1-01234567.tmp",  # another user's, unless this is root
        f".ranks.truerank-0123456789abcdef-{pid}-01234567.tmp",  # another host, container or boot
        f".ranks.truerank-unknown-{pid}-01234567.tmp",
        f".ranks.truerank-{system}-{pid}-01234567.tmp.npz",
        f".ranks.truerank-{system}-{pid}-.tmp",
        f".ranks.truerank-{system}-{10**30}-01234567.tmp",
        f".ranks.truerank-{system}--{pid}-01234567.tmp",
        f"ranks.truerank-{system}-{pid}-01234567.tmp",
        f".ranks2.truerank-{system}-{pid}-01234567.tmp",
    }
    for name in names:
        (tmp_path / name).touch()
    with monkeypatch.context() as patch:
        patch.setattr(writing, "_system", lambda: "unknown")
        RANKS.save(path)
        assert set(os.listdir(tmp_path)) == names | {"ranks", dead}
    RANKS.save(path)
    assert set(os.listdir(tmp_path)) == names | {"ranks"}


def test_two_that_save_at_once_do_not_disturb_each_other(target: Path) -> None:
    with writing.replace_file(target) as first:
        first.write(b"first")
        with writing.replace_file(target) as second:
            second.write(b"second")
        assert target.read_bytes() == b"second"
    assert target.read_bytes() == b"first"
    assert os.listdir(target.parent) == ["target"]
