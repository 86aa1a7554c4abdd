"""What the store serves: Parquet files of mounted folders, by key. It must not know HTTP connections."""

import bisect
import pathlib
from dataclasses import dataclass
from urllib.parse import quote
from xml.sax.saxutils import escape

PAGE_KEYS = 1000
LAST = "\U0010ffff"
MODIFIED = "2024-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Object:
    """One file."""

    path: pathlib.Path
    size: int
    etag: str


class Objects:
    """The files under mounted folders. Every bucket has all of them."""

    def __init__(self, mounts):
        self.by_key = {}
        for prefix, folder in mounts:
            for path in pathlib.Path(folder).rglob("*.parquet"):
                state = path.stat()
                key = f"{prefix}/{path.relative_to(folder).as_posix()}"
                self.by_key[key] = Object(path, state.st_size, f'"{state.st_mtime_ns:x}-{state.st_size:x}"')
        self.keys = sorted(self.by_key)

    def listing(self, bucket, query):
        """The answer to ListObjects, version 1 or 2, as XML."""
        prefix, version2 = query.get("prefix", ""), query.get("list-type") == "2"
        encode = quote if query.get("encoding-type") == "url" else escape
        found, last = self.page(prefix, query.get("delimiter", ""), after(query, version2), page_size(query))
        parts = [
            f"<Name>{bucket}</Name><Prefix>{encode(prefix)}</Prefix><IsTruncated>{str(bool(last)).lower()}</IsTruncated>"
        ]
        for name in ("delimiter", "encoding-type"):
            if name in query:
                tag = name.title().replace("-", "")
                parts.append(f"<{tag}>{escape(query[name])}</{tag}>")
        if version2:
            parts.append(f"<KeyCount>{len(found)}</KeyCount>")
        if last:
            tag = "NextContinuationToken" if version2 else "NextMarker"
            parts.append(f"<{tag}>{escape(last)}</{tag}>")
        parts += [self.entry(name, encode) for name in found]
        space = "http://s3.amazonaws.com/doc/2006-03-01/"
        return f'<?xml version="1.0"?><ListBucketResult xmlns="{space}">{"".join(parts)}</ListBucketResult>'.encode()

    def page(self, prefix, delimiter, start_after, most):
        """Keys and common prefixes in order, and the last of them if there are more."""
        found = []
        place = bisect.bisect_left(self.keys, prefix)
        if start_after:
            past = start_after + LAST if delimiter and start_after.endswith(delimiter) else start_after
            place = max(place, bisect.bisect_right(self.keys, past))
        while place < len(self.keys) and self.keys[place].startswith(prefix):
            if len(found) == most:
                return found, found[-1]
            key = self.keys[place]
            folder, split, _ = key[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
            if split:
                found.append(prefix + folder + delimiter)
                place = bisect.bisect_left(self.keys, found[-1] + LAST)
            else:
                found.append(key)
                place += 1
        return found, None

    def entry(self, name, encode):
        if name not in self.by_key:
            return f"<CommonPrefixes><Prefix>{encode(name)}</Prefix></CommonPrefixes>"
        found = self.by_key[name]
        return (
            f"<Contents><Key>{encode(name)}</Key><LastModified>{MODIFIED}</LastModified><ETag>{escape(found.etag)}</ETag>"
            f"<Size>{found.size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        )


def after(query, version2):
    if version2:
        return query.get("continuation-token") or query.get("start-after", "")
    return query.get("marker", "")


def page_size(query):
    return min(int(query.get("max-keys") or PAGE_KEYS), PAGE_KEYS)
