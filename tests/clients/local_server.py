"""One `fulmar local` for the length of a `with` block. Used by the client tests and by the benchmarks.

It owns the process: a bounded wait for its address, and its end by its own pid. It must not know what is asked of it.
"""

import os
import pathlib
import signal
import subprocess
import time

START_SECONDS = 60
# Longer than it lets streams go on.
STOP_SECONDS = 40


def own_environment():
    """The variables of this process without settings of Fulmar, which are not the test's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("FULMAR_")}


class LocalServer:
    """`fulmar local` over a folder of tables or a bucket prefix, on a free port of the loopback."""

    def __init__(self, binary, data, state, flags=(), environment=None):
        self.binary, self.data, self.state = str(binary), data, pathlib.Path(state)
        self.flags, self.environment = flags, environment
        self.host = self.port = self.child = None

    @property
    def uri(self):
        """Where a Flight SQL client connects."""
        return f"grpc://{self.host}:{self.port}"

    def __enter__(self):
        self.state.mkdir(parents=True, exist_ok=True)
        address_file = self.state / "address"
        address_file.unlink(missing_ok=True)
        self.log = open(self.state / "log", "w")
        flags = ["--data", str(self.data), "--state", self.state / "catalog", "--listen", "127.0.0.1:0"]
        words = [self.binary, "local", *flags, "--address-file", address_file, *self.flags]
        environment = own_environment() if self.environment is None else self.environment
        self.child = subprocess.Popen(words, stdout=self.log, stderr=subprocess.STDOUT, env=environment)
        try:
            self._wait_for(address_file)
        except BaseException as failure:
            self.__exit__(type(failure))
            raise
        return self

    def _wait_for(self, address_file):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.child.poll() is not None:
                raise RuntimeError(f"fulmar local ended with {self.child.returncode}: {self.output()}")
            text = address_file.read_text().strip() if address_file.exists() else ""
            if text:
                self.host, port = text.split("://")[-1].rsplit(":", 1)
                self.port = int(port)
                return
            time.sleep(0.02)
        raise RuntimeError(f"fulmar local wrote no address in {START_SECONDS} s: {self.output()}")

    def output(self):
        """The end of what the server has printed."""
        return (self.state / "log").read_text()[-4000:]

    def run(self, *words):
        """Runs another `fulmar` command to its end; returns what it printed."""
        words = [self.binary, *map(str, words)]
        out = subprocess.run(words, capture_output=True, text=True, timeout=120, env=own_environment())
        if out.returncode:
            raise RuntimeError(f"{words} ended with {out.returncode}: {out.stdout}{out.stderr}")
        return out.stdout

    def __exit__(self, failure=None, *_):
        ended = self._end()
        self.log.close()
        # What went wrong before says more than how the server took it.
        if ended and failure is None:
            raise RuntimeError(f"fulmar local {ended}: {self.output()}")

    def _end(self):
        """Ends the server, unless that was done before; what was wrong with its end."""
        child, self.child = self.child, None
        if child is None:
            return None
        if child.poll() is not None:
            return f"had ended with {child.returncode}"
        child.send_signal(signal.SIGTERM)
        try:
            code = child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return f"did not end within {STOP_SECONDS} s"
        return f"ended with {code}" if code else None
