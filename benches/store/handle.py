"""How a benchmark uses the store: starts it, sets its network, takes its counts."""

import json
import os
import subprocess
import urllib.request
from dataclasses import dataclass

from ..children import ROOT, STOP_SECONDS, python
from ..failure import Failure

BUCKET = "lake"
CONTROL_SECONDS = 30


@dataclass(frozen=True)
class Network:
    """How far away the store is: seconds to the first byte, bytes a second and connection (0 for no limit)."""

    name: str
    latency: float
    bandwidth: float


class StoreServer:
    """The store over mounted folders, for the length of a `with` block."""

    def __init__(self, mounts):
        self.command = python("store.server", *(f"{prefix}={folder}" for prefix, folder in mounts.items()))

    def __enter__(self):
        self.child = subprocess.Popen(self.command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        port = self.child.stdout.readline().strip()
        if not port:
            raise Failure(f"the store ended with {self.child.wait()}")
        self.endpoint = f"127.0.0.1:{port}"
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        try:
            self.child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()

    def set(self, network):
        """Moves the store."""
        control(self.endpoint, f"/__set?latency={network.latency}&bandwidth={network.bandwidth}")

    def take(self):
        """The counts since the last take."""
        return take(self.endpoint)

    def environment(self):
        """The variables by which Fulmar finds it, beside those of this program."""
        return {
            **os.environ,
            "AWS_ENDPOINT_URL": f"http://{self.endpoint}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }


def take(endpoint):
    """The counts of the store there since the last take."""
    return control(endpoint, "/__take")


def control(endpoint, path):
    try:
        with urllib.request.urlopen(f"http://{endpoint}{path}", timeout=CONTROL_SECONDS) as answer:
            return json.load(answer)
    except OSError as error:
        raise Failure(f"the store does not answer: {error}") from error
