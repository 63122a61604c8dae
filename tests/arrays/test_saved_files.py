"""Every file is written whole or not at all, with the mode of what it replaces."""

from __future__ import annotations

import errno
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import truerank as tr
from support.environment import Run
from support.refusals import refusal
from truerank.arrays import saved_files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions and processes of POSIX")

RANKS = tr.Ranks([0], [1], 5)


@pytest.fixture(params=["unnamed", "named"])
def temporary(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether files are written without a name, or where there are none such, under another."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("files without a name are Linux's")
    return str(request.param)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.write_bytes(b"old")
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def assert_untouched(target: Path) -> None:
    """The old file is there, and no other."""
    assert target.read_bytes() == b"old"
    assert os.listdir(target.parent) == ["target"]


@pytest.mark.parametrize("before", [0o600, 0o640, 0o755])
@pytest.mark.usefixtures("temporary")
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
@pytest.mark.usefixtures("temporary")
def test_a_new_file_follows_the_umask(mask: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        RANKS.save(tmp_path / "new")
    finally:
        os.umask(before)
    assert mode(tmp_path / "new") == 0o666 & ~mask


def test_nobody_else_reads_the_temporary_file(target: Path, temporary: str) -> None:
    target.chmod(0o600)
    with saved_files.replace_file(target) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
        assert len(os.listdir(target.parent)) == 1 + (temporary == "named")
        file.write(b"new")
    assert target.read_bytes() == b"new"


def not_permitted(*_: object) -> None:
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def test_a_file_system_without_modes(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target.chmod(0o644)
    with monkeypatch.context() as patch:
        patch.setattr(os, "chmod", not_permitted)
        RANKS.save(target)
    assert tr.load(target) == RANKS
    assert mode(target) == 0o600  # less than before rather than more


def test_a_file_that_may_not_be_written_is_not_replaced(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # root may write anything
    refusal(PermissionError, "target", RANKS.save, target)
    assert_untouched(target)


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    refusal(OSError, r"[ab]'$", RANKS.save, tmp_path / "a")
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


# A limit on the size of files stands for a full disk: both fail in the middle of a write.
LIMITED = """
import resource, sys
import numpy as np
import truerank as tr

zeros = np.zeros(100_000, np.int64)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
for result in (tr.Ranks(zeros, zeros + 1, 5), tr.RankCounter(zeros, 0, candidates=5)):
    try:
        result.save(sys.argv[1])
    except OSError as error:
        print(error.errno, error.filename == sys.argv[1], str(error).count(sys.argv[1]))
"""


def test_a_full_disk_is_an_error_that_names_the_file(run_python: Run, tmp_path: Path) -> None:
    lines = run_python(LIMITED, tmp_path / "new").splitlines()
    assert lines == [f"{errno.EFBIG} True 1"] * 2
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "error", [ValueError("a fault"), KeyboardInterrupt(), OSError("no number")]
)
@pytest.mark.parametrize("name", ["target", "new"])
@pytest.mark.usefixtures("temporary")
def test_an_error_leaves_the_old_file_and_no_other(
    name: str, error: BaseException, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_half() -> None:
        with saved_files.replace_file(target.with_name(name)) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)) as caught:
        write_half()
    assert caught.value is error
    assert_untouched(target)
    for call in ("fsync", "replace"):  # of the system may fail, too
        with monkeypatch.context() as patch:
            no_links(patch, "not permitted")
            patch.setattr(os, call, not_permitted)
            refusal(PermissionError, rf"{name}'$", RANKS.save, target.with_name(name))
        assert_untouched(target)


def test_a_file_that_gets_no_name_is_an_error_that_names_its_place(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk without room for the name."""

    def no_room(source: str, place: str, **_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), source, None, place)

    if not hasattr(os, "O_TMPFILE"):
        pytest.skip("files without a name are Linux's")
    monkeypatch.setattr(os, "link", no_room)
    refusal(OSError, rf"\] No space left on device: '{target}'$", RANKS.save, target)
    assert_untouched(target)


KILLED = """
import os, signal, sys
from truerank.arrays import saved_files

if sys.argv[2] == "named":
    vars(os).pop("O_TMPFILE", None)
with saved_files.replace_file(sys.argv[1]) as file:
    file.write(b"half")
    os.kill(os.getpid(), int(sys.argv[3]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_process_leaves_the_old_file(
    number: signal.Signals, target: Path, temporary: str
) -> None:
    """And where all files have names, a hidden one."""
    line = [sys.executable, "-c", KILLED, str(target), temporary, str(int(number))]
    assert subprocess.run(line, check=False).returncode == -number
    if temporary == "unnamed":
        assert_untouched(target)
        return
    assert target.read_bytes() == b"old"
    (left,) = set(os.listdir(target.parent)) - {"target"}
    assert re.fullmatch(r"\.target\.[0-9a-f]{16}\.tmp", left)
    RANKS.save(target)
    assert tr.load(target) == RANKS
    assert sorted(os.listdir(target.parent)) == [left, "target"]


@pytest.mark.usefixtures("temporary")
def test_two_that_save_at_once_do_not_disturb_each_other(target: Path) -> None:
    with saved_files.replace_file(target) as first:
        first.write(b"first")
        with saved_files.replace_file(target) as second:
            second.write(b"second")
        assert target.read_bytes() == b"second"
    assert target.read_bytes() == b"first"
    assert os.listdir(target.parent) == ["target"]


def no_links(patch: pytest.MonkeyPatch, how: str) -> None:
    """Take away links: some file systems have none, and some systems no function for them.

    There files without a name are not, either.
    """
    if how != "links":
        patch.delattr(os, "O_TMPFILE", raising=False)
    if how == "no function":
        patch.delattr(os, "link")
    elif how == "not permitted":
        patch.setattr(os, "link", not_permitted)


@pytest.mark.parametrize("how", ["links", "not permitted", "no function"])
def test_a_name_that_another_has_taken(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that save at once to a new name, the second to end raises."""
    new = tmp_path / "new"

    def write() -> None:
        with saved_files.replace_file(new) as file:
            file.write(b"mine")
            RANKS.save(new)

    no_links(monkeypatch, how)
    refusal(FileExistsError, rf"'{new}'$", write)
    assert tr.load(new) == RANKS
    assert os.listdir(tmp_path) == ["new"]
    RANKS.save(new)  # Whoever begins now replaces it.
