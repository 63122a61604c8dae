"""What a page looks like: in light and in dark, on a narrow screen and on paper."""

from __future__ import annotations

# The plots are drawn for white paper. In the dark their lightness is turned round, and their hues
# are turned back.
STYLE = """\
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1a1d21; --faint: #5c6670; --line: #d9dee3; --shade: #f4f6f8;
  --mark: #0072b2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181c; --ink: #e4e7ea; --faint: #9aa5b0; --line: #343b43; --shade: #1e2328;
    --mark: #56b4e9;
  }
  figure svg { filter: invert(1) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 74rem; padding: 2rem 1.25rem 4rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere;
}
h1 { margin: 0 0 .25rem; font-size: 1.75rem; line-height: 1.2; }
h2 {
  margin: 2.5rem 0 .75rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line);
  font-size: 1.25rem;
}
p { margin: .5rem 0; max-width: 48rem; }
a { color: var(--mark); }
.faint, footer { color: var(--faint); font-size: .875rem; }
.cards { display: grid; gap: .75rem; margin: 1.25rem 0 .5rem; padding: 0;
  grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); }
.cards div { padding: .6rem .9rem; border: 1px solid var(--line); border-radius: .4rem;
  background: var(--shade); }
.cards dt { color: var(--faint); font-size: .875rem; }
.cards dd { margin: 0; font-variant-numeric: tabular-nums; }
.cards dd:first-of-type { font-size: 1.5rem; line-height: 1.3; }
.cards dd + dd { color: var(--faint); font-size: .8125rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.25rem;
  margin: .5rem 0; }
.facts dt { color: var(--faint); }
.facts dd { margin: 0; }
.findings { padding-left: 1.25rem; max-width: 48rem; }
.findings li { margin: .3rem 0; }
.beside { display: flex; flex-wrap: wrap; gap: 1.25rem 2.5rem; align-items: start;
  margin: .5rem 0 1.25rem; }
.scroll { overflow-x: auto; max-width: 100%; overflow-wrap: normal; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { padding: .25rem 0; text-align: left; font-weight: 600; }
th, td { padding: .2rem .75rem .2rem 0; text-align: right; white-space: nowrap; }
th:first-child { text-align: left; }
tbody th { font-weight: 400; white-space: normal; min-width: 8rem; overflow-wrap: anywhere; }
thead th { border-bottom: 1px solid var(--faint); font-weight: 600; }
tbody tr { border-bottom: 1px solid var(--line); }
summary { cursor: pointer; margin: .75rem 0 .25rem; }
figure { flex: 1 1 26rem; min-width: 0; max-width: 36rem; margin: 0; }
figure svg { display: block; width: 100%; height: auto; }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
figcaption { color: var(--faint); font-size: .875rem; }
pre { margin: .5rem 0; padding: .6rem .9rem; border-radius: .4rem; background: var(--shade);
  font-size: .8125rem; white-space: pre-wrap; }
footer { margin-top: 3rem; }
@media (max-width: 32rem) {
  body { padding: 1rem .9rem 3rem; }
  .facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd { margin-bottom: .4rem; }
  table { font-size: .8125rem; }
  th, td { padding-right: .5rem; }
  th:first-child { white-space: normal; min-width: 5rem; }
}
@media print {
  :root {
    --paper: #fff; --ink: #000; --faint: #444; --line: #bbb; --shade: #fff; --mark: #000;
  }
  body { max-width: none; padding: 0; font-size: 10pt; }
  figure svg { filter: none; }
  h2 { break-after: avoid; }
  figure, tr, .cards div { break-inside: avoid; }
  .scroll { overflow: visible; }
}
"""
