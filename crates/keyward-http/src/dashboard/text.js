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

/** The same, of several lines. */
export function shownLines(text) {
  return String(text).split("\n").map(shown).join("\n");
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

/** Figures side by side: what each is, its value, how it is shown. */
export function tiles(figures) {
  return element("div", { class: "tiles" }, figures.map(([title, value, style]) =>
    element("div", { class: "tile" }, element("b", { class: style ?? "" }, value), element("span", {}, title))));
}

export function card(title, ...content) {
  const made = element("section", { class: "card" }, element("h2", {}, title), ...content);
  // Figures in its title change; it is the same card.
  made.key = title.replace(/[\d.,]+[kMG]?/g, "");
  return made;
}
