"""The one error of the benchmarks that is shown as a line instead of a trace."""


class Failure(Exception):
    """What went wrong, for whoever runs the benchmark."""


def last_line(text, otherwise):
    """The last line of what a program printed: where Python and most servers say what is wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else otherwise


def chosen(text, known, what):
    """The names in a comma-separated flag, in the order in which they are known; all without the flag."""
    if text is None:
        return list(known)
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise Failure(f"no {what} is called {', '.join(unknown)}: there are {', '.join(known)}")
    if not wanted:
        raise Failure(f"name at least one {what} of {', '.join(known)}")
    return [name for name in known if name in wanted]
