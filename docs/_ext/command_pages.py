"""The directive `commands`: a section for each command, made from its --help."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from truerank.cli.commands import commands

UNWRAPPED = "\b\n"  # stands before a paragraph that click does not wrap


class Commands(SphinxDirective):
    """Document all commands, in the order of `truerank --help`."""

    def run(self) -> list[nodes.Node]:
        """Make the sections."""
        root = click.Context(commands, info_name="truerank", **commands.context_settings)
        return [self._section(root, name) for name in commands.list_commands(root)]

    def _section(self, root: click.Context, name: str) -> nodes.section:
        command = commands.get_command(root, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=root, max_content_width=100)
        section = nodes.section(ids=[name], names=[name])
        section += nodes.title("", name)
        self.state.document.note_implicit_target(section, section)
        usage = command.get_usage(context).removeprefix("Usage: ")
        section += nodes.literal_block("", usage, language="text")
        section.extend(paragraphs(command.help or ""))
        section += options(command, context)
        return section


def paragraphs(text: str) -> Iterator[nodes.Node]:
    """Return the paragraphs of a command's help text."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        code = paragraph.removeprefix(UNWRAPPED)
        if code != paragraph:
            yield nodes.literal_block("", code, language="sh")
        else:
            yield nodes.paragraph("", " ".join(paragraph.split()))


def options(command: click.Command, context: click.Context) -> nodes.definition_list:
    """Return the options of a command with the help of each."""
    found = nodes.definition_list(classes=["options"])
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if record is None or isinstance(option, click.Argument):  # the help text explains arguments
            continue
        names, description = record
        term = nodes.term("", "", nodes.literal("", names))
        definition = nodes.definition("", nodes.paragraph("", description))
        found += nodes.definition_list_item("", term, definition)
    return found


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
