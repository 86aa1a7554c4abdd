"""The store's program: GET with a range, HEAD and ListObjects, path-style, on loopback. Signatures are not checked.

Each request waits `latency` seconds for its first byte; each connection sends `bandwidth` bytes a second, 0 for no
limit. `GET /__set?latency=…&bandwidth=…` changes both, `GET /__take` returns the counts since the last take; neither
is counted. It ends when its standard input does, so that it cannot outlive whoever started it.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from urllib.parse import parse_qsl, unquote

from .counts import Request, counts
from .objects import Objects

PACED_BYTES, FREE_BYTES = 256 << 10, 1 << 20
MODIFIED = formatdate(1_704_067_200, usegmt=True)
NO_SUCH_KEY = b"<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>"


@dataclass
class Asked:
    """The head of a request."""

    method: str
    path: str
    query: dict
    headers: dict


@dataclass
class Reply:
    """What is sent: a body from memory, or `length` bytes of a file from `start`."""

    kind: str
    status: int = 200
    body: bytes = b""
    headers: dict = field(default_factory=dict)
    path: object = None
    start: int = 0
    length: int = 0


class Store:
    """The objects, how slow they are, and the log of what was asked."""

    def __init__(self, objects):
        self.objects, self.log, self.latency, self.bandwidth = objects, [], 0.0, 0.0

    def control(self, asked):
        """Sets the network or takes the counts."""
        if asked.path == "/__set":
            self.latency, self.bandwidth = float(asked.query["latency"]), float(asked.query["bandwidth"])
            return {}
        log, self.log = self.log, []
        return counts(log)

    def reply(self, asked):
        bucket, _, key = unquote(asked.path).lstrip("/").partition("/")
        if asked.method not in ("GET", "HEAD"):
            return Reply("other", 501, b"<Error><Code>NotImplemented</Code></Error>")
        if key:
            return self.read(asked, key)
        if asked.method == "HEAD":
            return Reply("HEAD")
        if "location" in asked.query:
            return Reply("other", body=b"<LocationConstraint/>")
        return Reply(
            "LIST", body=self.objects.listing(bucket, asked.query), headers={"Content-Type": "application/xml"}
        )

    def read(self, asked, key):
        found = self.objects.by_key.get(key)
        if found is None:
            return Reply("miss", 404, NO_SUCH_KEY)
        if asked.headers.get("if-match", found.etag) not in (found.etag, "*"):
            return Reply(asked.method, 412, b"<Error><Code>PreconditionFailed</Code></Error>")
        headers = {"ETag": found.etag, "Last-Modified": MODIFIED, "Accept-Ranges": "bytes"}
        wanted = asked.headers.get("range", "")
        if asked.method == "HEAD" or not wanted.startswith("bytes="):
            return Reply(asked.method, 200, b"", headers, found.path, 0, found.size)
        start, end = span(wanted, found.size)
        if start >= end:
            return Reply("GET", 416, b"<Error><Code>InvalidRange</Code></Error>")
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{found.size}"
        return Reply("GET", 206, b"", headers, found.path, start, end - start)

    async def connection(self, reader, writer):
        try:
            while asked := await read_head(reader):
                if asked.path.startswith("/__"):
                    body = json.dumps(self.control(asked)).encode()
                    writer.write(head(200, {"Content-Type": "application/json"}, len(body)) + body)
                else:
                    await self.answer(asked, writer)
                await writer.drain()
                if asked.headers.get("connection", "").lower() == "close":
                    return
        except (ConnectionError, OSError):
            pass
        finally:
            writer.close()

    async def answer(self, asked, writer):
        request = Request(asked.method, asked.path, time.perf_counter())
        self.log.append(request)
        await asyncio.sleep(self.latency)
        reply = self.reply(asked)
        request.kind = reply.kind
        try:
            if asked.method == "HEAD":
                request.ended = time.perf_counter()
                writer.write(head(reply.status, reply.headers, reply.length))
            elif reply.path is None:
                await self.send_bytes(reply, request, writer)
            else:
                await self.send_file(reply, request, writer)
        finally:
            request.ended = request.ended or time.perf_counter()

    async def send_bytes(self, reply, request, writer):
        if self.bandwidth:
            await asyncio.sleep(len(reply.body) / self.bandwidth)
        request.size, request.ended = len(reply.body), time.perf_counter()
        writer.write(head(reply.status, reply.headers, len(reply.body)) + reply.body)

    async def send_file(self, reply, request, writer):
        bandwidth, piece = self.bandwidth, PACED_BYTES if self.bandwidth else FREE_BYTES
        due = time.perf_counter()
        with open(reply.path, "rb", buffering=0) as file:
            writer.write(head(reply.status, reply.headers, reply.length))
            while request.size < reply.length:
                wanted = min(piece, reply.length - request.size)
                read = os.pread(file.fileno(), wanted, reply.start + request.size)
                if not read:
                    raise ConnectionError(f"{reply.path} became shorter")
                if bandwidth:
                    due += len(read) / bandwidth
                    await asyncio.sleep(max(due - time.perf_counter(), 0))
                request.size += len(read)
                if request.size == reply.length:
                    # Before the last write: the client's next request may follow it at once.
                    request.ended = time.perf_counter()
                writer.write(read)
                await writer.drain()


async def read_head(reader):
    """The next request of a connection, or nothing at its end."""
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, target, _ = lines[0].split(" ", 2)
    fields = (line.split(":", 1) for line in lines[1:] if line)
    headers = {name.lower(): value.strip() for name, value in fields}
    await reader.readexactly(int(headers.get("content-length") or 0))
    path, _, query = target.partition("?")
    return Asked(method, path, dict(parse_qsl(query, keep_blank_values=True)), headers)


def head(status, headers, length):
    lines = [f"HTTP/1.1 {status} _", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join([*lines, f"Content-Length: {length}"]) + "\r\n\r\n").encode("latin-1")


def span(wanted, size):
    """Where a Range header, `bytes=a-b`, `a-` or `-n`, starts and ends in a file."""
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    if not first:
        return max(size - int(last), 0), size
    return int(first), min(int(last) + 1, size) if last else size


async def serve(store):
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), lambda: os.read(sys.stdin.fileno(), 1) or ended.set())
    server = await asyncio.start_server(store.connection, "127.0.0.1", 0, limit=1 << 20, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()
    server.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mounts", nargs="+", metavar="PREFIX=FOLDER", help="serves the Parquet files of a folder")
    mounts = [mount.split("=", 1) for mount in parser.parse_args().mounts]
    asyncio.run(serve(Store(Objects(mounts))))


if __name__ == "__main__":
    main()
