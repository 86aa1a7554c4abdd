"""Cold services on a warm catalog: `fulmar local` on a copy of a state that knows the footers of all files."""

import contextlib
import pathlib
import shutil

from ..clients import LocalServer
from ..failure import Failure, last_line
from ..machine import said
from ..store.handle import BUCKET
from .tables import PREFIX

DATA = f"s3://{BUCKET}/{PREFIX}"
PROFILE_FLAG = "--store-profile"


class Fulmar:
    """One binary over the tables of a store, with a state that was made once."""

    def __init__(self, binary, store, folder):
        self.binary, self.environment = binary, store.environment()
        self.folder = pathlib.Path(folder)
        self.warm, self.copy = self.folder / "warm", self.folder / "cold"

    def warm_up(self):
        """Makes the state: the services start, learn the tables, and end."""
        with self.services(self.warm, ()):
            pass

    @contextlib.contextmanager
    def cold(self, flags):
        """Fresh services on a copy of the state; the value is where a client connects."""
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.warm, self.copy)
        with self.services(self.copy, flags) as server:
            yield server.uri

    def services(self, state, flags):
        return started(LocalServer(self.binary, DATA, state, flags=flags, environment=self.environment))


@contextlib.contextmanager
def started(server):
    """The server, with its end of the output in the failure when it does not start."""
    try:
        entered = server.__enter__()
    except RuntimeError as error:
        raise Failure(f"fulmar local does not start: {last_line(str(error), 'no reason')}") from None
    try:
        yield entered
    finally:
        server.__exit__()


def has_profiles(binary):
    """Whether the binary lets one choose a store profile."""
    return PROFILE_FLAG in said(binary, "local", "--help")
