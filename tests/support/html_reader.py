"""A strict reader of pages: as XML, ids must differ, nothing may be fetched.

The only script that may be there is the one whose digest the page's policy names.
"""

from __future__ import annotations

import base64
import hashlib
import re
from xml.etree import ElementTree

# These elements may load something from outside, or run.
ACTIVE = {"link", "img", "iframe", "object", "embed", "base", "form", "audio", "video"}
PARENTS = {
    **{"tr": {"thead", "tbody"}, "th": {"tr"}, "td": {"tr"}, "caption": {"table"}},
    **{"thead": {"table"}, "tbody": {"table"}, "li": {"ul"}, "dt": {"dl", "div"}},
    **{"dd": {"dl", "div"}, "summary": {"details"}, "figcaption": {"figure"}},
}
BLOCKS = {"p", "ul", "dl", "div", "table", "figure", "section", "pre", "details", "h1", "h2"}
CODE = re.compile(r"(<(script|style)\b[^>]*>)(.*?)(</\2>)", re.DOTALL)
SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
LINK = re.compile(r"#|data:application/json;base64,")


class Page:
    """A page; anything wrong with it raises an error."""

    def __init__(self, text: str) -> None:
        first, _, text = text.partition("\n")
        assert first == "<!DOCTYPE html>"
        self.script = "".join(code for _, kind, code, _ in CODE.findall(text) if kind == "script")
        text = CODE.sub(r"\1\4", text)
        assert "<!" not in text  # neither comments nor declarations
        assert "/>" not in SVG.sub("", text)  # Elements of HTML cannot close themselves.
        text = re.sub(r"<(meta|br|hr)\b([^>]*)>", r"<\1\2/>", text).replace("xlink:href", "href")
        self.root = ElementTree.fromstring(text)
        for element in self.root.iter():
            element.tag = element.tag.rpartition("}")[2]  # without a namespace
        self.tags = [(element.tag, element.attrib) for element in self.root.iter()]
        self.words = " ".join("".join(self.root.itertext()).split())
        self.cells = ["".join(x.itertext()) for x in self.root.iter() if x.tag in ("td", "th")]
        self._check_places()
        self._check_attributes()
        self._check_script()

    def _check_places(self) -> None:
        for parent in self.root.iter():
            for child in parent:
                assert parent.tag in PARENTS.get(child.tag, {parent.tag}), (child.tag, parent.tag)
        for paragraph in self.root.iter("p"):
            assert not BLOCKS & {element.tag for element in paragraph.findall(".//*")}

    def _check_attributes(self) -> None:
        ids = [attributes["id"] for _, attributes in self.tags if "id" in attributes]
        assert len(set(ids)) == len(ids)
        for tag, attributes in self.tags:
            assert tag not in ACTIVE, tag
            for name, value in attributes.items():
                assert not name.startswith("on"), name
                targets = re.findall(r"url\(([^)]*)\)", value)
                if name in ("href", "src"):
                    targets.append(value)
                for target in targets:
                    assert LINK.match(target), target
                    assert target[0] != "#" or target[1:] in ids

    def _check_script(self) -> None:
        """One script at most, without a source, and by the policy no other may run."""
        if not self.count("script"):
            return
        assert [attributes for tag, attributes in self.tags if tag == "script"] == [{}]
        digest = base64.b64encode(hashlib.sha256(self.script.encode()).digest()).decode()
        (policy,) = (
            attributes["content"]
            for _, attributes in self.tags
            if attributes.get("http-equiv") == "Content-Security-Policy"
        )
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == f"'sha256-{digest}'"

    def count(self, tag: str) -> int:
        """Return how many elements have a tag."""
        return sum(name == tag for name, _ in self.tags)

    def json(self) -> str:
        """Return the JSON that the page contains."""
        (link,) = self.root.iter("a")
        return base64.b64decode(link.attrib["href"].partition(",")[2]).decode()
