"""What the benchmarks share with the client tests: how `fulmar local` is started and ended."""

import sys

from .children import ROOT

sys.path.insert(0, str(ROOT / "tests/clients"))
from local_server import LocalServer  # noqa: E402

__all__ = ["LocalServer"]
