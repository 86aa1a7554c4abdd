"""The commands as somebody meets them: the demo with the snippet that it prints, and the prompt on a terminal."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest

from local_server import own_environment

PATIENCE_SECONDS = 60


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, words, environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.execve(words[0], words, environment)
            finally:
                os._exit(127)
        self.shown = ""

    def wait_for(self, pattern):
        """Reads until what was shown since the last call matches; returns that."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.search(pattern, self.shown, re.S)):
            ready, _, _ = select.select([self.fd], [], [], max(deadline - time.monotonic(), 0))
            assert ready, f"{pattern!r} did not come: {self.shown!r}"
            self.shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(self.fd, 65_536).decode())
        self.shown = self.shown[found.end() :]
        return found.group()

    def type(self, line):
        os.write(self.fd, line.encode() + b"\r")

    def exit_code(self):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError(f"did not end: {self.shown!r}")


@pytest.fixture
def environment(tmp_path):
    """No history of somebody else's, and lines that are not wrapped."""
    return own_environment() | {"XDG_STATE_HOME": str(tmp_path), "TERM": "xterm", "COLUMNS": "200"}


def test_the_prompt_runs_statements_shows_errors_and_leaves(server, binary, environment):
    terminal = Terminal([binary, "sql", "--planner", server.uri], environment)
    terminal.wait_for(r"connected to .*fulmar> ")
    terminal.type("SELECT order_id AS one")
    terminal.wait_for(r"-> ")
    terminal.type("FROM orders WHERE order_id = 41;")
    terminal.wait_for(r"one.*41.*\(1 row.*fulmar> ")
    terminal.type("SELECT nothing FROM orders;")
    terminal.wait_for(r"error: [^\n]*nothing.*fulmar> ")
    terminal.type("\\d Orders")
    terminal.wait_for(r"customer_id.*fulmar> ")
    terminal.type('\\d "Orders"')
    terminal.wait_for(r"error: [^\n]*Orders.*fulmar> ")
    terminal.type("\\report on")
    terminal.wait_for(r"report is on.*fulmar> ")
    terminal.type("SELECT count(order_id) FROM orders WHERE order_date = DATE '2024-03-01';")
    terminal.wait_for(r"11 ruled out.*fulmar> ")
    terminal.type("\\q")
    assert terminal.exit_code() == 0


def test_a_prompt_without_a_planner_says_so_and_fails(binary, environment):
    terminal = Terminal([binary, "sql", "--planner", "grpc://127.0.0.1:1"], environment)
    terminal.wait_for(r"cannot reach grpc://127.0.0.1:1")
    assert terminal.exit_code() == 1


def test_the_snippet_that_the_demo_prints_works_when_pasted(binary, tmp_path):
    words = [binary, "demo", "--rows", "24000", "--dir", tmp_path / "demo", "--listen", "127.0.0.1:0"]
    with open(tmp_path / "notes", "w") as notes:
        demo = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=notes, text=True, env=own_environment())
    try:
        printed = []
        for line in demo.stdout:
            printed.append(line)
            if line.startswith("listening on "):
                break
        text = "".join(printed)
        shown = int(re.search(r"\(([\d,]+) rows", text).group(1).replace(",", ""))
        snippet = text[text.index("import adbc_driver_flightsql") : text.index("listening on ")]
        counted = snippet.replace("print(cursor.fetch_arrow_table())", "print(cursor.fetch_arrow_table().num_rows)")
        assert counted != snippet, "the snippet ends by printing the table"
        for code in (snippet, counted):
            out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
            assert out.returncode == 0, out.stderr
        assert int(out.stdout) == shown > 500
    finally:
        demo.send_signal(signal.SIGINT)
        ended = demo.wait(PATIENCE_SECONDS)
    assert ended == 0, (tmp_path / "notes").read_text()
