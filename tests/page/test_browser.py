"""Pages in a real browser: no error, light and dark, narrow and wide, sorted, copied.

`nox -s browser` installs Debian's chromium and its driver, and selenium. Elsewhere these tests are
skipped where one of them is missing; with selenium and CI=true that is a failure.
"""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pages have plots")
webdriver: Any = pytest.importorskip("selenium.webdriver", reason="needs selenium and a browser")
image: Any = pytest.importorskip("PIL.Image", reason="matplotlib brings it")

from truerank import Protocol, Ranks, report, retrieval  # noqa: E402
from truerank.page import save  # noqa: E402

FLAGS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")
WIDTHS = (400, 1280)  # of a phone, of a laptop
A4 = 702  # of the paper, less 12 mm on each side
SCHEMES = ("light", "dark")
PAGES = ("groups", "models", "retrieval", "names")
LONG = "http://example.org/entity/" + "Q123456789" * 8  # without a place to break it
REVERSED = {"ascending": "descending", "descending": "ascending"}
CONTRAST = 4.5  # of text and what is behind it, as the guidelines for accessibility (WCAG) ask for
COPIED = """
const selection = getSelection();
selection.removeAllRanges();
selection.selectAllChildren(arguments[0]);
return selection.toString();
"""
# Of every element with text of its own: what it is, its colour, and the first colour behind it.
COLOURS = """
const found = [];
for (const element of document.querySelectorAll("body *:not(script)")) {
  const hasText = Array.from(element.childNodes).some(
    (node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
  if (!hasText) continue;
  let behind = element;
  while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") {
    behind = behind.parentElement;
  }
  const style = getComputedStyle(element);
  const isDrawn = element.closest("svg") !== null;
  found.push([
    element.tagName,
    isDrawn ? style.fill : style.color,
    getComputedStyle(behind).backgroundColor,
  ]);
}
return found;
"""
# What is wider than the page, but for what scrolls within it.
TOO_WIDE = """
const wide = [];
for (const element of document.querySelectorAll("body *")) {
  if (element.closest("table") !== null) continue;
  if (element.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5) {
    wide.push(element.tagName);
  }
}
return wide;
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    n = 600
    labels = {
        "side": ["head", "tail"] * (n // 2),
        "relation": [f"relation {i % 30}" for i in range(n)],
        "unit": np.arange(n) // 2,
        "protocol": Protocol(split="valid", filter=("train", "valid")),
    }
    models = {}
    for name, spread in (("A", 1.5), ("B & C", 2.0), (f"D, {LONG}", 2.5)):
        above = np.minimum(rng.lognormal(1, spread, n), 998).astype(np.int64)
        models[name] = report(Ranks(above, rng.integers(1, 3, n), 1000, **labels))
    first = models["A"]
    save(folder / "groups.html", report(first.ranks, by="relation"), command="truerank evaluate")
    save(folder / "models.html", models, metrics=["mrr", "mr", "hits@10", "tail.mrr"])
    answers = {f"q{i}": ["a", "b"] for i in range(40)}
    task = retrieval.Task(answers, entities=["a", "b", "c", "d"], queries=list(answers))
    save(folder / "retrieval.html", task.evaluate_scores(rng.random((40, 4))))
    long = [LONG if i % 3 else "<b>\u6f22\u5b57</b>" for i in range(n)]
    options = {"title": LONG, "notes": [LONG], "command": f"truerank {LONG}"}
    save(folder / "names.html", report(first.ranks, by=long), **options)
    return folder


def require_program(name: str) -> str:
    path = shutil.which(name)
    if path is None and os.environ.get("CI") == "true":
        pytest.fail(f"{name} is not installed")
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = require_program("chromium")
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=require_program("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


def open_page(browser: Any, path: Path, scheme: str = "light", width: int = 1280) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(path.as_uri())


def all_of(browser: Any, selector: str) -> list[Any]:
    return browser.find_elements("css selector", selector)  # type: ignore[no-any-return]


def cells_of(table: Any) -> list[list[str]]:
    """Return the texts of a table, the heading first."""
    script = "return Array.from(arguments[0].rows, "
    script += "(row) => Array.from(row.cells, (cell) => cell.textContent))"
    return table.parent.execute_script(script, table)  # type: ignore[no-any-return]


def numbers_in(rows: list[list[str]], column: int) -> list[float]:
    """Return the numbers of a column, without the intervals behind them."""
    return [float(row[column].split()[0].replace(",", "")) for row in rows if row[column]]


def luminance(colour: str) -> float:
    """Return the relative luminance of "rgb(r, g, b)", from 0 for black to 1 for white (WCAG)."""
    shares = [int(digits) / 255 for digits in re.findall(r"\d+", colour)[:3]]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in shares]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_and_fits(
    page: str, width: int, scheme: str, browser: Any, folder: Path
) -> None:
    open_page(browser, folder / f"{page}.html", scheme, width)
    assert browser.get_log("browser") == []
    fetched = browser.execute_script("return performance.getEntriesByType('resource').length")
    assert fetched == 0
    root = browser.execute_script(
        "const root = document.documentElement; return [root.scrollWidth, root.clientWidth]"
    )
    assert root[0] <= root[1] <= width
    assert browser.execute_script(TOO_WIDE) == []
    assert len(all_of(browser, "svg")) > 0
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (luminance(paper) < 0.1) == (scheme == "dark")
    pairs = browser.execute_script(COLOURS)
    assert {"H1", "TH", "TD", "text", "A"} <= {tag for tag, _, _ in pairs}
    for tag, *colours in pairs:
        darker, lighter = sorted(map(luminance, colours))
        assert (lighter + 0.05) / (darker + 0.05) >= CONTRAST, (tag, colours)


@pytest.mark.parametrize("page", PAGES)
def test_tables_fit_on_paper(page: str, browser: Any, folder: Path) -> None:
    """On A4 without its margins no column is cut off, however long names are."""
    open_page(browser, folder / f"{page}.html", width=A4)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    tables = all_of(browser, "table")
    assert len(tables) > 1
    edges = "return [arguments[0].getBoundingClientRect().right, arguments[0].scrollWidth]"
    for table in tables:
        right, width = browser.execute_script(edges, table)
        assert max(right, width) <= A4
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("page", PAGES)
def test_a_copied_table_is_separated_by_tabs(page: str, browser: Any, folder: Path) -> None:
    """As spreadsheets read it: a line for each row, every cell, and nothing else."""
    open_page(browser, folder / f"{page}.html")
    tables = all_of(browser, "table")
    assert len(tables) > 1
    for table in tables:
        copied = browser.execute_script(COPIED, table).strip("\n").split("\n")
        assert [line.split("\t") for line in copied] == cells_of(table)


def test_a_click_on_a_heading_sorts(browser: Any, folder: Path) -> None:
    open_page(browser, folder / "groups.html")
    table = all_of(browser, "table")[0]
    heading, *rows = cells_of(table)
    assert rows[-1][0].endswith(" more rows in JSON")
    for name, first in (("MRR ↑", "descending"), ("MR ↓", "ascending"), ("tasks", "descending")):
        column = heading.index(name)
        button = table.find_elements("css selector", "thead [role=button]")[column]
        for order in (first, REVERSED[first], "none"):
            button.click()
            orders = [th.get_attribute("aria-sort") for th in all_of(table, "thead th")]
            assert orders.pop(column) == order
            assert set(orders) == {"none"}
            shown = cells_of(table)[1:]
            assert sorted(shown) == sorted(rows)
            assert shown[-1] == rows[-1]
            numbers = numbers_in(shown, column)
            if order == "none":
                assert shown == rows
            elif order == "descending":
                assert numbers == sorted(numbers, reverse=True)
            else:
                assert numbers == sorted(numbers)
    all_of(table, "thead [role=button]")[0].click()  # Names are sorted as people count.
    names = [row[0] for row in cells_of(table)[1:-1]]
    numbers = [int(name.split()[1]) for name in names if name.startswith("relation")]
    assert len(numbers) > 10
    assert numbers == sorted(numbers)
    assert browser.get_log("browser") == []
    assert len(all_of(browser, ".facts table")) == 1  # It is no result.
    assert all_of(browser, ".facts [role=button]") == []


def colour_at_the_edge(table: Any) -> tuple[int, ...]:
    """Return the colour of the last pixel of a table's heading, above its words."""
    picture = image.open(io.BytesIO(table.screenshot_as_png)).convert("RGB")
    return tuple(picture.getpixel((picture.width - 1, 1)))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_table_has_a_shade_where_it_is_cut(scheme: str, browser: Any, folder: Path) -> None:
    """Until it is scrolled to its end; a table that fits has none."""
    paper = {"light": (255, 255, 255), "dark": (21, 24, 28)}[scheme]
    open_page(browser, folder / "groups.html", scheme)
    table = all_of(browser, ".scroll table")[0]
    assert colour_at_the_edge(table) != paper
    browser.execute_script("arguments[0].scrollLeft = 1e4", table)
    assert colour_at_the_edge(table) == paper
    open_page(browser, folder / "retrieval.html", scheme)
    assert colour_at_the_edge(all_of(browser, ".scroll table")[0]) == paper


def test_cells_without_a_number_come_last(browser: Any, folder: Path, tmp_path: Path) -> None:
    """Whatever is said in place of it, and in either order; numbers may have something behind."""
    cells = ["9 of 10", "1,200.5*", "not enough", "-3.5", "0.25 [0.1, 0.4]", "", "inf", "2e-05"]
    body = "".join(f"<tr><td>{i}</td><td>{cell}</td></tr>" for i, cell in enumerate(cells))
    page = (folder / "groups.html").read_text(encoding="utf-8")
    table = (
        '<table><thead><tr><th style="text-align: left">name</th>'
        f'<th style="text-align: right">z</th></tr></thead><tbody>{body}</tbody></table>'
    )
    path = tmp_path / "cells.html"
    path.write_text(re.sub(r"(?s)<table>.*?</table>", lambda _: table, page, count=1), "utf-8")
    open_page(browser, path)
    shown = all_of(browser, "table")[0]
    button = all_of(shown, "thead [role=button]")[1]
    button.click()
    descending = ["inf", "1,200.5*", "9 of 10", "0.25 [0.1, 0.4]", "2e-05", "-3.5"]
    assert [row[1] for row in cells_of(shown)[1:]] == [*descending, "not enough", ""]
    button.click()
    assert [row[1] for row in cells_of(shown)[1:]] == [*descending[::-1], "not enough", ""]


@pytest.mark.parametrize("key", ["\ue007", " "], ids=["enter", "space"])
def test_a_heading_is_reached_and_pressed_by_keys(key: str, browser: Any, folder: Path) -> None:
    """Tab goes from heading to heading; the space bar does not scroll the page."""
    open_page(browser, folder / "models.html", width=400)
    table = all_of(browser, "table")[0]
    rows = cells_of(table)[1:]
    all_of(table, "thead [role=button]")[0].send_keys("\ue004")
    focused = browser.switch_to.active_element
    assert focused.text == "MRR ↑"
    assert focused.get_attribute("role") == "button"
    outline = focused.value_of_css_property("outline-style")
    assert outline != "none"
    focused.send_keys(key, key)
    values = numbers_in(cells_of(table)[1:], 1)
    assert values == sorted(numbers_in(rows, 1))
    assert browser.execute_script("return scrollY") == 0


def test_names_stay_beside_numbers(browser: Any, folder: Path) -> None:
    """On a phone a table scrolls below its names, which leave room for numbers."""
    open_page(browser, folder / "names.html", width=400)
    table = all_of(browser, "table")[0]
    script = "arguments[0].scrollLeft = 1000; return arguments[0].scrollLeft"
    assert browser.execute_script(script, table) > 50
    for cell in all_of(table, "tr > :first-child"):
        assert cell.rect["x"] == pytest.approx(table.rect["x"], abs=1)
        assert cell.rect["width"] <= 200
