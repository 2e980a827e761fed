// What people read: numbers with units, and texts of anywhere made harmless.

import { listen } from "./patch.js";

/** Characters that hide, reorder or break text, or look like nothing. */
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** A text whose signs are all seen. */
export function shown(text) {
  return String(text).replace(UNSEEN, (sign) => {
    const digits = sign.codePointAt(0).toString(16);
    return digits.length > 4 ? `\\u{${digits}}` : "\\u" + digits.padStart(4, "0");
  });
}

export function count(number) {
  const value = Math.abs(number);
  if (value < 10_000) return String(Math.round(number * 10) / 10);
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= size) return trimmed(number / size) + unit;
  }
  return String(number);
}

export function bytes(number) {
  for (const [size, unit] of [[2 ** 40, "TB"], [2 ** 30, "GB"], [2 ** 20, "MB"], [2 ** 10, "kB"]]) {
    if (number >= size) return trimmed(number / size) + " " + unit;
  }
  return Math.round(number) + " B";
}

export function share(number) {
  return number === null ? "–" : trimmed(number * 100) + " %";
}

export function time(seconds) {
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= size) return trimmed(seconds / size) + " " + unit;
  }
  if (seconds >= 1 || seconds <= 0) return trimmed(seconds) + " s";
  return seconds >= 0.001 ? trimmed(seconds * 1e3) + " ms" : trimmed(seconds * 1e6) + " µs";
}

/** The time of day, with seconds if they matter. */
export function clock(ms, isExact = false) {
  return new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", ...(isExact ? { second: "2-digit" } : {}), hourCycle: "h23" });
}

function trimmed(number) {
  return number >= 100 ? String(Math.round(number)) : String(Math.round(number * 10) / 10);
}

/** An element with attributes and children; texts are never markup. */
export function element(name, attributes = {}, ...children) {
  return build(document.createElement(name), attributes, children);
}

/** The same of SVG. */
export function drawn(name, attributes = {}, ...children) {
  return build(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function build(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) listen(made, name.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

export const code = (text) => element("bdi", { class: "code" }, shown(text));

/** A pattern, its placeholders told from what is written out. */
export function pattern(text) {
  if (!text) return element("bdi", { class: "code soft" }, "(no pattern)");
  return element("bdi", { class: "code" }, text.split(/(\{[^{}]*\})/).filter((part) => part).map((part) =>
    (part.startsWith("{") ? element("i", { class: "slot" }, shown(part)) : shown(part))));
}

/** A sentence of a schema, in which what stands between backticks is code. */
export const prose = (text) => text.split("`").map((part, index) => (index % 2 === 1 ? code(part) : shown(part)));

/** A word with a ground of its own: what something is. */
export const pill = (text, style = "") => element("span", { class: `pill ${style}` }, shown(text));

/** Figures side by side: what each is, its value, how it is shown, and of what is limited its share. */
export function tiles(figures) {
  return element("div", { class: "tiles" }, figures.map(([title, value, style, used]) =>
    element("div", { class: "tile figure", "data-tip": shown(title) }, element("span", {}, shown(title)), element("b", { class: style ?? "" }, value),
      used === undefined ? null : meter(used, style))));
}

/** A bar that is full to a share. */
export function meter(used, style = "") {
  const bar = element("i", { class: style ?? "" });
  bar.style.width = `${(100 * Math.min(1, Math.max(0, used))).toFixed(1)}%`;
  return element("span", { class: "meter" }, bar);
}

export function card(title, ...content) {
  const made = element("section", { class: "card" }, element("h2", {}, shown(title)), ...content);
  // Figures in its title change; it is the same card.
  made.key = title.replace(/[\d.,]+[kMG]?/g, "");
  return made;
}

/** The way to a pattern's own page. */
export const link = (it) => element("a", { href: it.address, class: "pattern" }, pattern(it.pattern));

export const when = (ms) => element("time", { datetime: new Date(ms).toISOString(), "data-tip": new Date(ms).toLocaleString([], { hourCycle: "h23" }) }, clock(ms, true));

/** A table; of columns whose names begin with # the cells are numbers, with - short texts. */
export function list(title, columns, rows, empty, key = (row) => row.textContent) {
  if (rows.length === 0) return card(title, element("p", { class: "note" }, empty));
  const style = (at) => ({ "#": "", "-": "left" })[columns[at][0]] ?? "left wrap";
  const name = (at) => columns[at].replace(/^[#-]/, "");
  const drawn = rows.map((row) => {
    const made = element("tr", {}, row.map((cell, at) => element("td", { class: style(at), "data-title": name(at) }, cell)));
    made.key = key(made);
    return made;
  });
  return card(title, element("table", { class: "stacked" },
    element("thead", {}, element("tr", {}, columns.map((_, at) => element("th", { scope: "col", class: style(at) ? "left soft" : "soft" }, name(at))))),
    element("tbody", {}, drawn)));
}
