"""Makes hostile files of valid ones, by a source of random numbers.

`damage` changes bytes and repairs nothing. `mutate` also knows what a file consists of: headers of
`.npy` get other shapes and dtypes, members of archives other arrays, text other numbers; lengths,
CRCs are then made right again, so that what is beneath them is reached.
"""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random

import numpy as np

NPY = b"\x93NUMPY"
ZIP = b"PK\x03\x04"
GZIP = b"\x1f\x8b"

NUMBERS = (0, 1, -1, 2, 3, 8, 127, 128, 255, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**60 - 1)
NUMBERS += (2**62, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 10**23)
WORDS = list(map(str, NUMBERS))
WORDS += ["1e400", "-1e-400", "nan", "NaN", "Infinity", "-0", "0.5", "1_0", "007", "3L", "0x10"]
WORDS += ["null", "true", "None", "True", '""', "''", "{}", "[]", "()", *"()[,:'"]
WORDS += ["\\ud800", "\ud800", "\x00", "\x1b[2J", "\r", "\n", "\t", "\ufeff", "\u0661", "a" * 300]
WORDS += ["above", "tied", "best", "truerank.ranks", "truerank.counter", "worst", "descending"]
DTYPES = ("<i8", ">i8", "<i4", "<u8", "<u2", "|u1", "|b1", "<f8", "<f4", "<f2", "<f16", "<c16")
DTYPES += ("|O", "|S3", "|S0", "<U1", "<U0", "|V2", "|V0", "<M8[ns]", "<m8[D]", "=f8", "f8", "")
DTYPES += ("<x9",)
DESCRIPTIONS = tuple(map(repr, DTYPES))
DESCRIPTIONS += ("('<f4', (2,))", "[('a', '<f4')]", "[('a', '|O'), ('a', '|O')]", "[]", "None")
DESCRIPTIONS += ("'<f8' '<f8'",)
SHAPES = ("()", "(0,)", "(1,)", "(3,)", "(3, 4)", "(4, 3)", "(0, 4)", "(3, 0)", "(20,,", "(3,", "3")
SHAPES += ("[3]", "(-1,)", "(-3, -4)", "(3.0,)", "(True,)", "('3',)", "(3L, 4L)")
SHAPES += ("(1000000000000, 0)",)
SHAPES += ("(99999999999999999999999,)", "(1152921504606846975,)", "(9223372036854775807,)")
SHAPES += ("(4294967296, 4294967296)", "(9223372036854775807, 0)", "(1,) * 70", f"({'1, ' * 70})")
FIELDS = {"shape": SHAPES, "descr": DESCRIPTIONS}
ARRAYS: list[object] = [[0], [-1], [0, 1], [1, 0], [2**63 - 1], [-(2**63)], [2**62] * 3, [3, 1, 2]]
ARRAYS += [0, 1, -1, 2**40, 1.5, "text", [0.5, np.nan, np.inf], [[0, 1], [1, 2]], [], [[]]]
ARRAYS += [["a", "b"], np.array([2**64 - 1], np.uint64), np.array([1, 0, 1], bool), np.array([1j])]
ARRAYS += [np.array([0, 1, 3], np.int32), np.array([0, 1, 3], ">i8")]
ARRAYS += [np.array(["2020-01-01"], "datetime64[D]"), np.frombuffer(b"[1, 2]", np.uint8)]
ARRAYS += [np.frombuffer(b'{"a": NaN}', np.uint8), np.frombuffer(b"[" * 3000, np.uint8)]


def damage(data: bytes, random: Random) -> bytes:
    """Change some bytes, or leave them out, and repair nothing."""
    for _ in range(random.randint(1, 3)):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + random.choice((1, 1, 2, 4, 8, 30, 200)))
        kind = random.choice(("bit", "bit", "others", "remove", "cut", "repeat", "number"))
        if kind == "bit":
            changed = bytes(byte ^ 1 << random.randrange(8) for byte in data[start : start + 1])
            data = data[:start] + changed + data[start + 1 :]
        elif kind == "number":  # of 1 to 8 bytes, as headers have them
            data = _put_number(data, start, random.choice((1, 2, 4, 8)), random)
        elif kind == "cut":
            data = data[:start]
        elif kind == "repeat":
            data = data[:end] + data[start:end] * random.choice((1, 1, 2, 50)) + data[end:]
        else:
            size = end - start if kind == "others" else 0
            data = data[:start] + random.randbytes(size) + data[end:]
    return data


def _put_number(data: bytes, start: int, width: int, random: Random) -> bytes:
    number = random.choice(NUMBERS) % (1 << 8 * width)
    return data[:start] + number.to_bytes(width, "little") + data[start + width :]


def mutate(data: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """Make another file of a valid one; `others` are files of the same kind."""
    if others and not random.randrange(8):
        other = random.choice(others)
        data = data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]
    for _ in range(random.randint(1, 3)):
        data = _mutate_once(data, random)
    return data


def change_inside(data: bytes, random: Random, change: Callable[[bytes], bytes]) -> bytes:
    """Change the bytes of a member, or what is gzipped, and make lengths and CRCs right."""
    if data[:2] == GZIP:
        try:
            return gzip.compress(change(gzip.decompress(data)), mtime=0)
        except (OSError, EOFError, zlib.error):
            return change(data)
    members = None
    if data[:4] == ZIP:
        members = members_of(data)
    if not members:
        return change(data)
    place = random.randrange(len(members))
    name, content = members[place]
    members[place] = name, change(content)
    return archive_of(members)


def _mutate_once(data: bytes, random: Random) -> bytes:
    if not random.randrange(4):
        return damage(data, random)
    if data[:4] == ZIP:
        return _mutate_archive(data, random)
    if data[:2] == GZIP:
        return change_inside(data, random, lambda content: _mutate_text(content, random))
    if data[:6] == NPY:
        return _mutate_npy(data, random)
    return _mutate_text(data, random)


# -- text ------------------------------------------------------------------------------------------


def _mutate_text(data: bytes, random: Random) -> bytes:
    """Change a number, a word or a sign of text."""
    text = data.decode("latin1")
    tokens = re.findall(r"-?\d+|\w+|.", text, re.DOTALL)
    numbers = [i for i, token in enumerate(tokens) if token[-1:].isdigit()]
    places: Sequence[int] = range(len(tokens))
    if numbers and random.randrange(2):
        places = numbers
    place = 0
    if places:
        place = random.choice(places)
    if random.randrange(20):
        word = random.choice(WORDS)
    else:
        word = "9" * random.choice((400, 5000))
    word = word.encode("utf-8", "surrogatepass").decode("latin1")
    kind = random.choice(("remove", "insert", "repeat", "replace", "replace"))
    if kind == "remove":
        del tokens[place : place + random.choice((1, 1, 5))]
    elif kind == "insert":
        tokens.insert(place, word)
    elif kind == "repeat" and tokens:
        tokens.insert(random.randrange(len(tokens)), tokens[place])
    else:
        tokens[place : place + 1] = [word]
    return "".join(tokens).encode("latin1")


# -- .npy ------------------------------------------------------------------------------------------


def npy_of(header: str, body: bytes, version: int = 1) -> bytes:
    """Return a `.npy` file whose header has the right length, whatever it says."""
    text = header.encode("latin1") + b"\n"
    width = 2 if version == 1 else 4
    length = min(len(text), (1 << 8 * width) - 1).to_bytes(width, "little")
    return NPY + bytes([version, 0]) + length + text + body


def npy_parts(data: bytes) -> tuple[str, bytes, int]:
    """Return the header's text, the bytes after it, and the version."""
    version = data[6] if len(data) > 6 else 1
    width = 2 if version == 1 else 4
    start = 8 + width
    end = start + int.from_bytes(data[8:start], "little")
    return data[start:end].decode("latin1").rstrip(), data[end:], version


def _mutate_npy(data: bytes, random: Random) -> bytes:
    header, body, version = npy_parts(data)
    if version not in (1, 2, 3):
        return damage(data, random)
    kind = random.choice(("array", "shape", "descr", "words", "text", "version", "JSON", "items"))
    if kind == "array":
        return _array(random.choice(ARRAYS))
    if kind in FIELDS:
        header = _with_field(header, kind, random.choice(FIELDS[kind]))
    elif kind == "words":
        pairs = (("False", "True"), ("True", "False"), ("False", "2"), ("'shape'", "'descr'"))
        header = header.replace(*random.choice(pairs))
    elif kind == "text":
        header = _mutate_text(header.encode("latin1"), random).decode("latin1")
    elif kind == "version":
        version = random.choice((1, 2, 3, 0, 4, 255))
    elif kind == "JSON" and "'|u1'" in header:  # as archives have it
        body = _mutate_text(body, random)
        header = _with_field(header, "shape", f"({len(body)},)")
    elif len(body) < 8 or not random.randrange(4):
        body = damage(body, random)
    else:  # one of the items, which have 8 bytes each, most often
        body = _put_number(body, 8 * random.randrange(len(body) // 8), 8, random)
    return npy_of(header, body, version)


def _with_field(header: str, name: str, value: str) -> str:
    """Replace the shape or the dtype in the text of a header."""
    ends = {"shape": r"\(.*?\)", "descr": r"'[^']*'"}
    return re.sub(rf"(?<='{name}': ){ends[name]}", lambda _: value, header)


def _array(value: object) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(value))
    return stream.getvalue()


# -- archives --------------------------------------------------------------------------------------

# What may happen to a member of an archive; most often its content is changed.
MEMBER_CHANGES = ("remove", "other content", "rename", "add", "directory") + 7 * ("content",)


def members_of(data: bytes) -> list[tuple[str, bytes]] | None:
    """Return the names and contents of an archive, or None if it is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if sum(info.file_size for info in infos) > 1 << 20:
                return None
            return [(info.filename, archive.read(info)) for info in infos]
    except Exception:  # zipfile raises whatever its parser raises
        return None


def archive_of(members: Sequence[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return an archive of members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members:
            if name not in archive.NameToInfo:  # zipfile warns of two that have one name
                archive.writestr(zipfile.ZipInfo(name), content, method)
    return stream.getvalue()


def _write_directory(data: bytes, random: Random) -> bytes:
    """Put a number into a field of an archive's directory: a CRC, a size, an offset, flags."""
    entries = [match.start() for match in re.finditer(b"PK\x01\x02", data)]
    if not entries:
        return data
    offset, width = random.choice(((8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (42, 4)))
    start = random.choice(entries) + offset
    return _put_number(data, start, width, random)


def _mutate_archive(data: bytes, random: Random) -> bytes:
    members = members_of(data)
    if not members:
        return damage(data, random)
    place = random.randrange(len(members))
    name, content = members[place]
    kind = random.choice(MEMBER_CHANGES)
    if kind == "remove":
        del members[place]
    elif kind == "other content":
        members[place] = name, random.choice(members)[1]
    elif kind == "rename":
        names = f"x{name}", name[1:], "", "../x.npy", "scores.npy"
        members[place] = random.choice(names), content
    elif kind == "add":
        names = "extra.npy", "rows.npy", "lists.npy", "labels..codes.npy"
        members.append((random.choice(names), content))
    elif kind == "directory":
        return _write_directory(data, random)
    else:
        changed = _mutate_npy if content[:6] == NPY and random.randrange(8) else damage
        members[place] = name, changed(content, random)
    methods = (zipfile.ZIP_STORED,) * 15 + (zipfile.ZIP_DEFLATED,)
    return archive_of(members, random.choice(methods))
