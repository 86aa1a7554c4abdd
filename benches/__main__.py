"""The command line: which benchmark, with which flags. It must not know how one works."""

import argparse
import os
import pathlib
import signal
import sys

from . import decoding, local
from .failure import Failure
from .flight import bench as flight
from .machine import busy
from .output import say
from .scan import bench as scan


def main():
    parser = argparse.ArgumentParser(prog="python -m benches", description="Measures Fulmar beside other engines.")
    commands = parser.add_subparsers(required=True, metavar="scan | flight | local | decode")
    for benchmark in (scan, flight, local, decoding):
        name = benchmark.NAME
        lines = benchmark.__doc__.splitlines()
        command = commands.add_parser(name, help=lines[0], description=lines[0])
        command.add_argument("--fulmar", type=pathlib.Path, required=True, metavar="BINARY", help="the release binary")
        benchmark.add_flags(command)
        command.set_defaults(run=benchmark.run)
    flags = parser.parse_args()
    # A bench that is told to stop leaves its `with` blocks, and so ends every program that it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("error: stopped"))
    try:
        check(flags)
        flags.run(flags)
    except Failure as failure:
        sys.exit(f"error: {failure}")
    except KeyboardInterrupt:
        sys.exit("error: stopped")


def check(flags):
    """What every benchmark needs."""
    if getattr(flags, "reps", 1) < 1:
        raise Failure("--reps must be at least 1")
    if not os.access(flags.fulmar, os.X_OK):
        raise Failure(f"--fulmar: {flags.fulmar} is no program")
    flags.fulmar = flags.fulmar.absolute()
    if reason := busy():
        say(f"warning: {reason}")


if __name__ == "__main__":
    main()
