"use strict";

// Sort a table by a click on a heading, or by Enter or the space bar on it: the best values first,
// then the worst first, then as the page has them. Cells without a value come last in either order.

// A number, which an interval, a deviation or a mark may follow.
const NUMBER = /^[-+\u2212]?(?:\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?|inf)/;
const LOWER_IS_BETTER = "\u2193";
const NAMES = new Intl.Collator("en", { numeric: true });

function textOf(row, column) {
  return row.cells[column].textContent.trim();
}

function numberOf(text) {
  const [digits] = NUMBER.exec(text);
  return Number(digits.replaceAll(",", "").replace("\u2212", "-").replace("inf", "Infinity"));
}

function holdsNames(heading, rows) {
  const isAligned = heading.style.textAlign === "left";
  return isAligned || !rows.some((row) => NUMBER.test(textOf(row, heading.cellIndex)));
}

function sorted(rows, heading, order) {
  const column = heading.cellIndex;
  let hasValue = (row) => NUMBER.test(textOf(row, column));
  let compare = (a, b) => numberOf(a) - numberOf(b);
  if (holdsNames(heading, rows)) {
    hasValue = (row) => textOf(row, column) !== "";
    compare = NAMES.compare;
  }
  const sign = order === "ascending" ? 1 : -1;
  const full = rows.filter(hasValue);
  full.sort((a, b) => sign * compare(textOf(a, column), textOf(b, column)));
  return [...full, ...rows.filter((row) => !hasValue(row))];
}

// Return the order that follows each order of a column.
function ordersOf(heading, rows) {
  if (holdsNames(heading, rows) || heading.textContent.includes(LOWER_IS_BETTER)) {
    return { none: "ascending", ascending: "descending", descending: "none" };
  }
  return { none: "descending", descending: "ascending", ascending: "none" };
}

// The last line of a long table says how many rows it leaves out, and stays the last.
function isRemark(row) {
  const [first, ...others] = row.cells;
  return / more rows? in JSON$/.test(first.textContent) && others.every((cell) => cell.textContent === "");
}

function makeSortable(table) {
  const [body] = table.tBodies;
  const remarks = [...body.rows].filter(isRemark);
  const rows = [...body.rows].filter((row) => !isRemark(row));
  const headings = [...table.tHead.rows[0].cells];
  if (rows.length < 2) {
    return;
  }
  headings.forEach((heading) => {
    const next = ordersOf(heading, rows);
    const sort = () => {
      const order = next[heading.ariaSort];
      headings.forEach((other) => {
        other.ariaSort = "none";
      });
      heading.ariaSort = order;
      const shown = order === "none" ? rows : sorted(rows, heading, order);
      body.append(...shown, ...remarks);
    };
    // Not a <button>, whose text would be missing in what is copied.
    const button = document.createElement("span");
    button.role = "button";
    button.tabIndex = 0;
    button.append(...heading.childNodes);
    button.addEventListener("click", sort);
    button.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        sort();
      }
    });
    heading.append(button);
    heading.ariaSort = "none";
  });
}

document.querySelectorAll("section:not(.facts) table").forEach(makeSortable);
