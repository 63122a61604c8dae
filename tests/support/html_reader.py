"""A strict reader of pages: tags must close, ids must differ, nothing may be fetched.

The only script that may be there is the one whose digest the page's policy names.
"""

from __future__ import annotations

import base64
import hashlib
import html.parser
import re

VOID = {"meta", "br", "link", "img", "input", "hr"}
# These elements may load something from outside, or run.
ACTIVE = {"link", "img", "iframe", "object", "embed", "base", "form", "audio", "video"}
PARENTS = {
    **{"tr": {"thead", "tbody"}, "th": {"tr"}, "td": {"tr"}, "caption": {"table"}},
    **{"thead": {"table"}, "tbody": {"table"}, "li": {"ul"}, "dt": {"dl", "div"}},
    **{"dd": {"dl", "div"}, "summary": {"details"}, "figcaption": {"figure"}},
}
BLOCKS = {"p", "ul", "dl", "div", "table", "figure", "section", "pre", "details", "h1", "h2"}


class Page(html.parser.HTMLParser):
    """A page; anything wrong with it raises an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.script = ""
        self.cells: list[str] = []
        assert text.startswith("<!DOCTYPE html>\n")
        self.feed(text)
        self.close()
        assert not self.open, self.open
        self._check()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attributes]
        assert len(set(names)) == len(names), names
        self._check_place(tag)
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert "svg" in self.open, tag  # Elements of HTML cannot close themselves.
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" in self.open:
            self.script += data
        elif "style" not in self.open:
            self.text.append(data)
        if self.cells and {"td", "th"} & set(self.open):
            self.cells[-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    def _check_place(self, tag: str) -> None:
        parent = self.open[-1] if self.open else ""
        if "svg" not in self.open:
            assert parent in PARENTS.get(tag, {parent}), (tag, parent)
            assert not (tag in BLOCKS and "p" in self.open), tag

    def _check(self) -> None:
        ids = [attributes["id"] for _, attributes in self.tags if "id" in attributes]
        assert len(set(ids)) == len(ids)
        self._check_script()
        for tag, attributes in self.tags:
            assert tag not in ACTIVE, tag
            for name, value in attributes.items():
                assert not name.startswith("on"), name
                if name in ("href", "xlink:href", "src"):
                    assert value is not None
                    assert value.startswith(("#", "data:application/json;base64,")), value
                    assert value[0] != "#" or value[1:] in ids
                for found in re.findall(r"url\(([^)]*)\)", value or ""):
                    assert found[0] == "#", found
                    assert found[1:] in ids

    def _check_script(self) -> None:
        """One script at most, without a source, and by the policy no other may run."""
        if not self.count("script"):
            return
        assert [attributes for tag, attributes in self.tags if tag == "script"] == [{}]
        digest = base64.b64encode(hashlib.sha256(self.script.encode()).digest()).decode()
        (policy,) = (
            attributes["content"] or ""
            for tag, attributes in self.tags
            if attributes.get("http-equiv") == "Content-Security-Policy"
        )
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == f"'sha256-{digest}'"

    @property
    def words(self) -> str:
        """Return all text of the page, with single spaces."""
        return " ".join("".join(self.text).split())

    def count(self, tag: str) -> int:
        """Return how many elements have a tag."""
        return sum(name == tag for name, _ in self.tags)

    def json(self) -> str:
        """Return the JSON that the page contains."""
        (data,) = (a["href"] for tag, a in self.tags if tag == "a")
        assert data is not None
        return base64.b64decode(data.partition(",")[2]).decode()
