"""A small S3 server over a folder that counts what it is asked: ranged GET, HEAD and ListObjectsV2, path-style.

It must not know Parquet or Fulmar. Signatures are not checked.
"""

import functools
import hashlib
import pathlib
import threading
from collections import Counter
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


class CountingStore:
    """Serves the sub-folders of a folder as buckets for the length of a `with` block."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.requests, self.bytes = Counter(), 0
        self.lock = threading.Lock()

    def __enter__(self):
        handler = type("Handler", (Handler,), {"store": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def environment(self):
        """The variables by which an S3 client finds it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server.server_port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }

    def count(self, kind, size):
        with self.lock:
            self.requests[kind] += 1
            self.bytes += size

    def take(self):
        """The counts since the last call: requests by kind, and bytes sent of objects."""
        with self.lock:
            taken = dict(self.requests), self.bytes
            self.requests, self.bytes = Counter(), 0
        return taken


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        if "list-type" in query:
            return self.list(unquote(url.path).strip("/"), query)
        self.object("GET", url.path)

    def do_HEAD(self):
        self.object("HEAD", urlsplit(self.path).path)

    def object(self, kind, path):
        file = self.store.root / unquote(path).lstrip("/")
        if not file.is_file():
            self.store.count(kind, 0)
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>", {})
        size = file.stat().st_size
        start, end = self.wanted(size)
        if start >= end:
            self.store.count(kind, 0)
            return self.answer(416, b"<Error><Code>InvalidRange</Code></Error>", {"Content-Range": f"bytes */{size}"})
        headers = {"ETag": etag(file), "Last-Modified": formatdate(file.stat().st_mtime, usegmt=True)}
        if "Range" in self.headers:
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        self.store.count(kind, end - start if kind == "GET" else 0)
        with open(file, "rb") as opened:
            opened.seek(start)
            self.answer(206 if "Content-Range" in headers else 200, opened.read(end - start), headers)

    def wanted(self, size):
        """The bytes of a Range header, `a-b`, `a-` or `-n`."""
        first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        if not first:
            return max(size - int(last), 0), size
        return int(first), min(int(last) + 1, size) if last else size

    def list(self, bucket, query):
        self.store.count("LIST", 0)
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        top = self.store.root / bucket
        contents, folders = [], set()
        for file in sorted(path for path in top.rglob("*") if path.is_file()):
            key = file.relative_to(top).as_posix()
            if not key.startswith(prefix):
                continue
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.split(delimiter)[0] + delimiter)
                continue
            contents.append(
                f"<Contents><Key>{escape(key)}</Key><Size>{file.stat().st_size}</Size>"
                f"<LastModified>2024-01-01T00:00:00.000Z</LastModified><ETag>{escape(etag(file))}</ETag></Contents>"
            )
        common = [f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in sorted(folders)]
        body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(contents + common)}</ListBucketResult>"
        self.answer(200, body.encode(), {"Content-Type": "application/xml"})

    def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def etag(file):
    facts = file.stat()
    return digest(file, facts.st_mtime_ns, facts.st_size)


@functools.lru_cache
def digest(file, modified, size):
    """The digest of a file as it is: a changed one has other facts."""
    return f'"{hashlib.md5(file.read_bytes()).hexdigest()}"'
