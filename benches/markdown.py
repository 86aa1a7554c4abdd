"""Markdown: tables, and sections of a file that are replaced without touching the others."""

import pathlib

TITLE = "# Benchmarks\n\nEach section is written by the command that it names; the rest of the file is kept.\n"


def table(heads, rows, text_columns=1):
    """A table whose columns after the first `text_columns` are numbers."""
    rule = ["---"] * text_columns + ["--:"] * (len(heads) - text_columns)
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [heads, rule, *rows])


def replace_section(path, heading, body):
    """Puts `## heading` and its body into a file, in the place of the section of that name, else at the end."""
    path = pathlib.Path(path)
    text = path.read_text() if path.exists() else TITLE
    head, *sections = ("\n" + text).split("\n## ")
    new = f"{heading}\n\n{body.strip()}\n"
    names = [section.splitlines()[0].strip() for section in sections]
    if heading in names:
        sections[names.index(heading)] = new
    else:
        sections.append(new)
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = [head.strip(), *("## " + section.strip() for section in sections)]
    path.write_text("\n\n".join(parts) + "\n")
