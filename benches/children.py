"""Programs that a benchmark starts: bounded in time, ended by their own pid. It must not know what they do."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from .failure import Failure, last_line

ROOT = pathlib.Path(__file__).resolve().parents[1]
STOP_SECONDS = 20
POLL_SECONDS = 0.02


def python(module, *words):
    """The command that runs a module of this package."""
    return [sys.executable, "-m", f"{__package__}.{module}", *map(str, words)]


def ask(command, seconds, env=None):
    """Runs a program to its end and returns the JSON object in its last line that holds one."""
    child = subprocess.Popen(
        [str(word) for word in command],
        cwd=ROOT,
        env=env,
        text=True,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        out, err = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failure(f"no answer in {seconds:g} s") from None
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    answers = [line for line in out.splitlines() if line.startswith("{")]
    if child.returncode or not answers:
        raise Failure(last_line(err, f"it ended with {child.returncode} and no answer"))
    return json.loads(answers[-1])


class Server:
    """A program that serves for the length of a `with` block. Its output goes to a file."""

    def __init__(self, command, log, env=None):
        self.command, self.log, self.env = [str(word) for word in command], pathlib.Path(log), env
        self.child = None

    def __enter__(self):
        with open(self.log, "w") as log:
            self.child = subprocess.Popen(self.command, cwd=ROOT, env=self.env, stdout=log, stderr=subprocess.STDOUT)
        return self

    def wait_until(self, ready, seconds):
        """Waits for a condition, the end of the program, or too long; returns what the condition returned."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.child.poll() is not None:
                raise Failure(f"it ended with {self.child.returncode}: {self.last_words()}")
            if answer := ready():
                return answer
            time.sleep(POLL_SECONDS)
        raise Failure(f"not ready in {seconds:g} s: {self.last_words()}")

    def last_words(self):
        """The last line that it printed."""
        return last_line(self.log.read_text(errors="replace"), "it printed nothing")

    def memory(self):
        """Bytes that it occupies now, and at most so far."""
        lines = pathlib.Path(f"/proc/{self.child.pid}/status").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        now, most = (int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
        return now, most

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
