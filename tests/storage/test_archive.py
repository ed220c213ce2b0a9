"""The file format: contents are restored exactly, and damaged files are rejected with a message."""

from __future__ import annotations

import hashlib
import json
import struct
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from heros import DataError, HerosError
from heros.storage import archive

DOCUMENT = {"answer": 42, "name": "ζ", "list": [1, None, True], "large": 1 << 100}
ARRAYS = {
    "doubles": np.array([[0.1, np.nan], [np.inf, -0.0]]),
    "floats": np.array([1.5], dtype=np.float32),
    "counts": np.arange(5),
    "bytes": np.arange(3, dtype=np.uint8),
    "none": np.zeros((0, 4)),
    "one": np.array(7.0),
}


@pytest.fixture
def path(tmp_path):
    archive.write(tmp_path / "file.heros", "example", DOCUMENT, ARRAYS)
    return tmp_path / "file.heros"


def sealed(header: object, payload: bytes = b"", version: int = 1, text: bytes | None = None) -> bytes:
    """Return a file with a valid checksum and arbitrary contents."""
    encoded = json.dumps(header).encode() if text is None else text
    data = struct.pack("<8sIQ", b"\x89HEROS\r\n", version, len(encoded)) + encoded + payload
    return data + hashlib.sha256(data).digest()


def test_what_goes_in_comes_out(path):
    document, arrays = archive.read(path, "example")
    assert document == DOCUMENT
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert arrays[name].tobytes() == array.tobytes()
        assert arrays[name].flags.aligned
        assert arrays[name].flags.writeable


def test_the_layout_is_the_documented_one(path):
    """Read a file using only the description in the module's docstring."""
    data = path.read_bytes()
    assert data[:8] == bytes.fromhex("89 48 45 52 4F 53 0D 0A")
    assert int.from_bytes(data[8:12], "little") == archive.FORMAT
    length = int.from_bytes(data[12:20], "little")
    header = json.loads(data[20 : 20 + length])
    assert header["kind"] == "example"
    assert header["arrays"][0] == ["doubles", "<f8", [2, 2]]
    assert data[20 + length :][:32] == ARRAYS["doubles"].tobytes()
    assert data[-32:] == hashlib.sha256(data[:-32]).digest()


def test_every_flipped_byte_is_found(path):
    data = path.read_bytes()
    for i in range(len(data)):
        for flip in (1, 0x80):
            path.write_bytes(data[:i] + bytes([data[i] ^ flip]) + data[i + 1 :])
            with pytest.raises(DataError, match=r"is damaged|is not a HEROS file"):
                archive.read(path, "example")


def test_every_truncation_is_found(path):
    data = path.read_bytes()
    for i in range(len(data)):
        path.write_bytes(data[:i])
        with pytest.raises(DataError, match="is damaged"):
            archive.read(path, "example")
    path.write_bytes(data + b"\0")
    with pytest.raises(DataError, match="the checksum is wrong"):
        archive.read(path, "example")


WHOLE = {"heros": "0.1.0", "kind": "example", "document": {}, "arrays": []}


@pytest.mark.parametrize(
    ("header", "payload", "got"),
    [
        ([], b"", "unreadable header"),
        ({}, b"", "hold a example"),
        (WHOLE | {"kind": "model"}, b"", "hold a example: it holds a 'model'"),
        (WHOLE | {"document": []}, b"", "no document"),
        (WHOLE | {"arrays": {}}, b"", "no document"),
        (WHOLE, b"left", "4 bytes belong to no array"),
        (WHOLE | {"arrays": [["x", "<f8", [2]]]}, bytes(8), "'x' has a wrong size"),
        (WHOLE | {"arrays": [["x", "<f8", [1]], ["x", "<f8", [1]]]}, bytes(16), "'x' has a wrong size"),
        (WHOLE | {"arrays": [["x", "<f8", [1 << 61, 1 << 61]]]}, bytes(8), "'x' has a wrong size"),
        (WHOLE | {"arrays": [["x", "<f8", [0, 1 << 61, 1 << 61]]]}, b"", "'x' has a wrong size"),
        (WHOLE | {"arrays": [["x", "<f8", [-1]]]}, b"", "the description of an array is invalid"),
        (WHOLE | {"arrays": [["x", "<f8", [True]]]}, bytes(8), "the description of an array is invalid"),
        (WHOLE | {"arrays": [["x", "<f8", [1.0]]]}, bytes(8), "the description of an array is invalid"),
        (WHOLE | {"arrays": [["x", "<f8", [1] * 40]]}, bytes(8), "the description of an array is invalid"),
        (WHOLE | {"arrays": [["x", "|O", [1]]]}, bytes(8), "the description of an array is invalid"),
        (WHOLE | {"arrays": [["x", "|b1", [1]]]}, b"\2", "the description of an array is invalid"),
        (WHOLE | {"arrays": [["x", "V8", [1]]]}, bytes(8), "the description of an array is invalid"),
        (WHOLE | {"arrays": [[1, "<f8", [1]]]}, bytes(8), "the description of an array is invalid"),
        (WHOLE | {"arrays": ["x"]}, bytes(8), "the description of an array is invalid"),
    ],
)
def test_a_file_made_up_with_a_right_checksum_is_checked_as_well(tmp_path, header, payload, got):
    path = tmp_path / "made.heros"
    path.write_bytes(sealed(header, payload))
    with pytest.raises(DataError, match=got):
        archive.read(path, "example")


@pytest.mark.parametrize(
    "text", [b"{", b"\xff\xfe", b"[" * 100_000, b'{"document": ' + b"9" * 10_000 + b"}", b""]
)
def test_a_header_that_is_no_json_is_said(tmp_path, text):
    path = tmp_path / "made.heros"
    path.write_bytes(sealed(None, text=text))
    with pytest.raises(DataError, match="has an unreadable header"):
        archive.read(path, "example")


def test_a_header_longer_than_the_file_is_said(tmp_path):
    data = struct.pack("<8sIQ", b"\x89HEROS\r\n", 1, 1 << 63)
    path = tmp_path / "made.heros"
    path.write_bytes(data + hashlib.sha256(data).digest())
    with pytest.raises(DataError, match="the header has a wrong length"):
        archive.read(path, "example")


def test_another_format_is_refused_with_the_version_that_wrote_it(tmp_path):
    path = tmp_path / "new.heros"
    path.write_bytes(sealed(WHOLE | {"heros": "9.1.0"}, b"who knows what", version=2))
    text = (
        r"must have the format 1, which heros-learn \S+ reads\. Got 2 \(written by heros-learn 9\.1\.0\)\.$"
    )
    with pytest.raises(HerosError, match=text) as error:
        archive.read(path, "example")
    assert not isinstance(error.value, DataError)  # the file is not damaged
    path.write_bytes(sealed(None, version=7, text=b"no JSON any more"))
    with pytest.raises(HerosError, match=r"Got 7\.$"):
        archive.read(path, "example")


def test_what_is_not_there_or_no_file_is_said(tmp_path):
    with pytest.raises(DataError, match=r"cannot be read: No such file or directory\.$"):
        archive.read(tmp_path / "nothing", "example")
    with pytest.raises(DataError, match=r"cannot be read: Is a directory\.$"):
        archive.read(tmp_path, "example")
    (tmp_path / "text").write_text("something else entirely, and long enough to be one of ours")
    with pytest.raises(DataError, match="is not a HEROS file"):
        archive.read(tmp_path / "text", "example")


@pytest.mark.parametrize(
    "array", [np.array(["text"]), np.array([object()]), np.array([True]), np.array([1j])]
)
def test_only_numbers_are_written(tmp_path, array):
    with pytest.raises(HerosError, match=r"The array 'x' must hold numbers"):
        archive.write(tmp_path / "file", "example", {}, {"x": array})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [np.nan, object(), {1, 2}])
def test_only_plain_data_is_written(tmp_path, value):
    with pytest.raises(
        HerosError,
        match=r"^The document written to .*file must be JSON data\. The error "
        r"was: ",
    ):
        archive.write(tmp_path / "file", "example", {"x": value}, {})
    assert list(tmp_path.iterdir()) == []


def test_writers_at_once_leave_one_whole_file(tmp_path):
    """Each writer has its own temporary file."""
    path = tmp_path / "file.heros"

    def write(writer):
        for turn in range(20):
            archive.write(path, "example", {"by": [writer, turn]}, {"x": np.full(1000, writer)})
            document, arrays = archive.read(path, "example")
            assert (arrays["x"] == document["by"][0]).all()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    assert [one.name for one in tmp_path.iterdir()] == ["file.heros"]
