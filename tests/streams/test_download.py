"""The downloader, with a server on this machine."""

import hashlib
import http.server
import io
import os
import tarfile
import threading
import urllib.request
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from heros import DataError, streams
from heros.streams import paper_datasets as real_module
from heros.streams.paper_datasets import REAL, RealStream, data_directory, fetch, open_real
from heros.streams.paper_datasets import _opener as opener

ARFF = b"""@relation small
@attribute a numeric
@attribute 'colour' {red,blue}
@attribute Delay {0,1}
@data
1.5,blue,1
?,red,0
2.5,red,1
"""
COUNTS = {"0": 1, "1": 2}


def archive(name):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        about = tarfile.TarInfo(name)
        about.size = len(ARFF)
        tar.addfile(about, io.BytesIO(ARFF))
    return packed.getvalue()


class Home(http.server.BaseHTTPRequestHandler):
    """Return a data directory, with some invalid data sets."""

    def do_GET(self):
        self.server.asked.append(self.path)
        pages = {
            "/good.arff": ARFF,
            "/other.arff": ARFF.replace(b"2.5,red,1", b"2.5,red,0"),
            "/page.arff": b"<html>We have moved.</html>",
            "/good.tar.gz": archive("v1/v1_transformed.arff"),
            "/empty.tar.gz": archive("v1/readme.txt"),
            "/short.tar.gz": archive("v1/v1_transformed.arff")[:120],
            "/broken.tar.gz": b"not an archive",
        }
        if self.path == "/truncated.arff":
            self.send_response(200)
            self.send_header("Content-Length", str(len(ARFF)))
            self.end_headers()
            self.wfile.write(ARFF[:-30])
        elif self.path in {"/nonsense.arff", "/silent.arff"}:
            self.send_response(200)
            if self.path == "/nonsense.arff":
                self.send_header("Content-Length", "many")
            self.end_headers()
            self.wfile.write(ARFF)
        elif self.path == "/elsewhere.arff":
            self.send_response(302)
            self.send_header("Location", "/good.arff")
            self.end_headers()
        elif self.path in pages:
            self.send_response(200)
            self.send_header("Content-Length", str(len(pages[self.path])))
            self.end_headers()
            self.wfile.write(pages[self.path])
        else:
            self.send_error(503 if self.path == "/busy.arff" else 404)

    def log_message(self, *args):
        pass


@pytest.fixture
def home():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Home)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}"
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def directory(tmp_path, monkeypatch):
    path = tmp_path / "not" / "there" / "yet"
    monkeypatch.setenv("HEROS_DATA", str(path))
    return path


def small(*urls, counts=COUNTS):
    return RealStream("small", urls, 1, 1, counts)


def refused(real):
    with pytest.raises(DataError) as error:
        open_real(real)
    return str(error.value)


def test_a_stream_is_downloaded_once_checked_and_converted(home, directory):
    real = small(f"{home.url}/good.arff")
    for _ in range(2):
        stream = open_real(real)
        X, y = stream.draw(5)
        assert (str(X.tolist()), y.tolist()) == ("[[1.5, 1.0], [nan, 0.0], [2.5, 0.0]]", [1, 0, 1])
        assert (stream.name, stream.n_instances) == ("small", 3)
        assert stream.schema.features[1].values == ("red", "blue")
    assert home.asked == ["/good.arff"]
    assert [path.name for path in directory.iterdir()] == ["small.parquet"]  # no other file is left
    assert pq.read_schema(directory / "small.parquet").names == ["a", "colour", "class"]


def test_an_archive_is_unpacked(home, directory):
    assert open_real(small(f"{home.url}/good.tar.gz")).n_instances == 3


def test_the_next_home_is_tried(home, directory):
    real = small(f"{home.url}/busy.arff", f"{home.url}/truncated.arff", f"{home.url}/good.arff")
    assert open_real(real).n_instances == 3
    assert home.asked == ["/busy.arff", "/truncated.arff", "/good.arff"]


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("truncated.arff", f"ended after {len(ARFF) - 30} of {len(ARFF)} bytes."),
        ("busy.arff", "returned the error 503 (Service Unavailable)."),
        ("gone.arff", "returned the error 404 (Not Found)."),
        ("empty.tar.gz", "contains no file that matches *_transformed.arff."),
        ("short.tar.gz", "is not a valid archive."),
        ("broken.tar.gz", "is not a valid archive."),
    ],
)
def test_a_failed_download_says_why_and_what_to_put_where(home, directory, page, why):
    assert refused(small(f"{home.url}/{page}")) == (
        f"The stream 'small' is not in {directory} and could not be downloaded: {home.url}/{page} {why} "
        "Save the stream in this directory manually as small.parquet (a Parquet file with the label in "
        "the last column, 'class')."
    )
    assert list(directory.iterdir()) == []


def test_a_length_that_is_none_is_said(home, directory):
    why = "returned an invalid length ('many')."
    assert f"{home.url}/nonsense.arff {why}" in refused(small(f"{home.url}/nonsense.arff"))


@pytest.mark.parametrize("page", ["good.arff", "silent.arff"])
def test_more_than_there_can_be_is_not_taken(home, directory, tmp_path, page):
    """The limit holds whether the server states the size or sends data endlessly."""
    with pytest.raises(DataError, match="is larger than the limit of 20 bytes"):
        fetch(f"{home.url}/{page}", tmp_path / "x", "small", most=20)
    assert not (tmp_path / "x").exists() or (tmp_path / "x").stat().st_size <= 20


def test_an_archive_that_swells_is_not_unpacked(home, directory, monkeypatch):
    monkeypatch.setattr(RealStream, "most_bytes", len(ARFF) - 1)
    monkeypatch.setattr(real_module, "fetch", lambda url, path, title, most: fetch(url, path, title))
    assert "contains a file larger than the limit of" in refused(small(f"{home.url}/good.tar.gz"))


def test_a_redirect_is_followed_but_not_out_of_encryption(home, directory, tmp_path):
    fetch(f"{home.url}/elsewhere.arff", tmp_path / "x", "small")
    assert (tmp_path / "x").read_bytes() == ARFF
    handler = next(one for one in opener("https://safe/x").handlers if type(one).__name__ == "Redirects")
    asked = urllib.request.Request("https://safe/x")
    with pytest.raises(DataError, match=r"^https://safe/x redirected to http://other/y without encryption"):
        handler.redirect_request(asked, None, 302, "Found", {}, "http://other/y")
    followed = handler.redirect_request(asked, None, 302, "Found", {}, "https://other/y")
    assert followed.full_url == "https://other/y"


def test_rows_in_another_order_are_another_stream(home, directory):
    right = hashlib.sha256(b"1\n0\n1\n").hexdigest()
    assert open_real(replace(small(f"{home.url}/good.arff"), labels=right)).n_instances == 3
    (directory / "small.parquet").unlink()
    wrong = hashlib.sha256(b"0\n1\n1\n").hexdigest()
    said = refused(replace(small(f"{home.url}/good.arff"), labels=wrong))
    assert said.endswith(f"with the labels in the original order (SHA-256 {wrong}). Got {right} instead.")
    assert list(directory.iterdir()) == []


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_the_labels_of_the_real_streams_are_those_a_copy_is_known_by(name, real_data):
    digest, stream = hashlib.sha256(), streams.load(name)
    for _, y in stream.blocks(1 << 16):
        digest.update("".join(f"{stream.schema.classes[label]}\n" for label in y.tolist()).encode())
    assert digest.hexdigest() == REAL[name].labels


def test_without_a_network_the_message_says_which_file_to_put_where(home, directory):
    home.shutdown()
    home.server_close()
    message = refused(small(f"{home.url}/good.arff"))
    assert message.startswith(
        f"The stream 'small' is not in {directory} and could not be downloaded: "
        f"{home.url}/good.arff could not be reached ("
    )
    assert message.endswith(
        "Save the stream in this directory manually as small.parquet (a Parquet file with the label in "
        "the last column, 'class')."
    )


def test_other_content_is_refused_and_nothing_is_kept(home, directory):
    shape = "1 nominal and 1 numeric features, and the classes ['0', '1']"
    said = [
        refused(small(f"{home.url}/other.arff")),
        refused(small(f"{home.url}/good.arff", counts={"0": 1, "1": 3})),
        refused(small(f"{home.url}/page.arff")),
    ]
    assert said[:2] == [
        "The download must hold the stream 'small' with the class counts {'0': 1, '1': 2}. "
        "Got {'1': 1, '0': 2} instead.",
        f"The download must hold the stream 'small' with 4 rows, {shape}. Got 3 rows, {shape} instead.",
    ]
    assert "each line of the header must be a comment" in said[2]
    assert list(directory.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_named(home, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HEROS_DATA", str(tmp_path / "file" / "data"))
    assert refused(small(f"{home.url}/good.arff")) == (
        f"The data directory {tmp_path / 'file' / 'data'} cannot be written to: Not a directory. "
        "Set the environment variable HEROS_DATA to use another directory."
    )


def test_no_permission_to_write_is_named(home, directory, monkeypatch):
    def forbidden(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(real_module.tempfile, "mkdtemp", forbidden)
    assert refused(small(f"{home.url}/good.arff")) == (
        f"The data directory {directory} cannot be written to: Permission denied. "
        "Set the environment variable HEROS_DATA to use another directory."
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_write_permission_is_named(home, tmp_path, monkeypatch):
    tmp_path.chmod(0o500)
    monkeypatch.setenv("HEROS_DATA", str(tmp_path))
    assert refused(small(f"{home.url}/good.arff")).endswith(": Permission denied.")


def test_every_real_stream_comes_over_https():
    urls = [url for real in REAL.values() for url in real.urls]
    assert urls
    assert all(url.startswith("https://") for url in urls)


def test_the_data_directory_is_a_cache_of_the_users_unless_set(monkeypatch, tmp_path):
    monkeypatch.delenv("HEROS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert data_directory() == tmp_path / "heros"
    monkeypatch.setenv("HEROS_DATA", str(tmp_path / "mine"))
    assert data_directory() == tmp_path / "mine"


@pytest.mark.data
@pytest.mark.parametrize("name", ["electricity", "wisdm"])
def test_a_converted_copy_equals_the_original(name, real_data, tmp_path, monkeypatch, rows):
    """Write a real stream as ARFF, serve it to the converter, and read the result."""
    stream = streams.load(name)
    lines = ["@relation r"]
    for feature in stream.schema.features:
        kind = "numeric" if feature.values is None else "{" + ",".join(feature.values) + "}"
        lines.append(f'@attribute "{feature.name}" {kind}')
    lines += ["@attribute class {" + ",".join(stream.schema.classes) + "}", "@data"]
    table = pq.read_table(real_data / f"{name}.parquet").to_pydict()
    lines += [
        ",".join("?" if value is None else str(value) for value in row)
        for row in zip(*table.values(), strict=True)
    ]

    def serve(url, path, title, most):
        path.write_text("\n".join(lines))

    monkeypatch.setattr(real_module, "fetch", serve)
    monkeypatch.setenv("HEROS_DATA", str(tmp_path))
    original = REAL[name]
    copied = open_real(
        RealStream(name, ("https://x/y.arff",), original.n_nominal, original.n_numeric, original.class_counts)
    )
    assert copied.schema == stream.schema
    expected, found = rows(stream), rows(copied)
    assert str(found.tolist()) == str(expected.tolist())
