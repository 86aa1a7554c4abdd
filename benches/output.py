"""What a benchmark says while it runs, and where its report goes."""

from . import markdown


def say(line):
    """A line of progress, at once."""
    print(line, flush=True)


def deliver(out, heading, section):
    """Puts a report into its section of a file, or on the terminal without one."""
    if out is None:
        say(f"\n## {heading}\n\n{section}")
        return
    markdown.replace_section(out, heading, section)
    say(f'wrote the section "{heading}" of {out}')


def add_out_flag(parser):
    """The flag that says where a report goes."""
    text = "the file whose section is replaced; without it the report is printed"
    parser.add_argument("--out", metavar="FILE", help=text)
