// Drawings: sparklines, lines over time, the treemap, the graph of ties.

import { keep, told } from "./patch.js";
import { bytes, count, drawn, element, shown, time } from "./text.js";

/** Tiles of the treemap; what is beyond is one more. */
const TILES_MAX = 200;

/** A line over time, as wide as it is let. */
export function spark(values, title) {
  return plot(values, 110, 24, "spark", title);
}

/** The same with its greatest value written above it. */
export function chart(title, values, format, when, seconds) {
  const known = values.filter((value) => value !== null);
  const last = known.length > 0 ? format(known[known.length - 1]) : "–";
  const most = known.length > 0 ? format(Math.max(...known)) : "–";
  return element("figure", { class: "tile" },
    element("figcaption", {}, element("span", {}, title + " "), element("b", {}, last),
      element("span", {}, "most in this time " + most)),
    ...(known.length > 1 ? [telling(plot(values, 600, 150, "chart", title), (share) => {
      const at = Math.round(share * (values.length - 1));
      return values[at] === null ? "" : `${format(values[at])}\n${when(at, values.length)}`;
    }), element("div", { class: "scale soft" }, element("span", {}, time(seconds) + " ago"), element("span", {}, "now"))]
      : [element("p", { class: "soft" }, "The line begins with the second sample.")]));
}

function telling(svg, tell) {
  told.set(svg, tell);
  return svg;
}

/** A line through points at their times, with the least and the greatest time below. */
export function curve(title, points, format, when) {
  const [width, height] = [600, 150];
  const last = points[points.length - 1][0], most = Math.max(1, ...points.map(([, value]) => value));
  const svg = drawn("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
  const place = ([at, value]) => `${(width * at / last).toFixed(1)} ${(height - 2 - (height - 4) * value / most).toFixed(1)}`;
  const path = "M" + points.map(place).join("L");
  svg.append(drawn("path", { class: "area", d: `${path}L${width} ${height}L0 ${height}Z` }), drawn("path", { class: "line", d: path }));
  telling(svg, (share) => {
    const near = points.reduce((best, point) => (Math.abs(point[0] - share * last) < Math.abs(best[0] - share * last) ? point : best));
    return `${format(near[1])}\n${when(near[0])}`;
  });
  return element("figure", {}, element("figcaption", { class: "soft" }, `${title}: from ${format(points[0][1])} to ${format(points[points.length - 1][1])}`),
    svg, element("div", { class: "scale soft" }, element("span", {}, "now"), element("span", {}, when(last))));
}

function plot(values, width, height, style, title) {
  const known = values.filter((value) => value !== null);
  const svg = drawn("svg", { class: style, viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: "none", role: "img", "aria-label": title });
  if (known.length < 2) return svg;
  const most = Math.max(...known), least = Math.min(0, ...known);
  const y = (value) => height - 2 - (height - 4) * (most > least ? (value - least) / (most - least) : 0);
  const x = (index) => index * width / (values.length - 1);
  let path = "", isOpen = false;
  values.forEach((value, index) => {
    if (value === null) { isOpen = false; return; }
    path += (isOpen ? "L" : "M") + x(index).toFixed(1) + " " + y(value).toFixed(1);
    isOpen = true;
  });
  const first = values.findIndex((value) => value !== null);
  const area = path.replaceAll("M", "L").replace("L", "M") +
    `L${width} ${height}L${x(first).toFixed(1)} ${height}Z`;
  svg.append(drawn("path", { class: "area", d: area }), drawn("path", { class: "line", d: path }));
  return svg;
}

/** Rectangles whose areas are the bytes of patterns (squarified). */
export function treemap(patterns, width, height) {
  const svg = drawn("svg", { class: "treemap", viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: "none", role: "img", "aria-label": "Memory by pattern" });
  const sorted = patterns.filter((it) => it.bytes > 0).sort((a, b) => b.bytes - a.bytes);
  const isLong = sorted.length > TILES_MAX;
  const items = isLong ? sorted.slice(0, TILES_MAX - 1) : sorted, rest = sorted.slice(items.length);
  const sum = (name, of) => of.reduce((all, it) => all + it[name], 0);
  if (isLong) items.push({ others: rest.length, bytes: sum("bytes", rest), keys: sum("keys", rest) });
  const keyspaces = [...new Set(patterns.map((it) => it.keyspace))];
  const total = sum("bytes", sorted), scale = total > 0 ? width * height / total : 0;
  const tiles = squarified(items.sort((a, b) => b.bytes - a.bytes), scale, width, height);
  return keep(svg, tiles.map((place) => ({
    key: place.item.address ?? "others",
    sign: [place.x, place.y, place.w, place.h, place.item.bytes, place.item.keys, place.item.others, total].join(" "),
    make: () => tile(place, keyspaces, total),
  })));
}

/** A rectangle of the treemap; that of the others leads nowhere. */
function tile({ item, x, y, w, h }, keyspaces, total) {
  const name = item.others ? `${count(item.others)} others` : shown(item.pattern || "(no pattern)");
  const rect = drawn("rect", { x, y, width: w, height: h, rx: 4 });
  rect.style.fill = item.others ? "var(--line)" : `var(--t${keyspaces.indexOf(item.keyspace) % 6 + 1})`;
  const part = total > 0 ? Math.round(1000 * item.bytes / total) / 10 : 0;
  const where = item.others ? "smaller ones together" : shown(item.keyspace);
  const said = { "aria-label": `${name} ${bytes(item.bytes)}`,
    "data-tip": `${name}\n${where}: ${bytes(item.bytes)}, ${part} %\n${count(item.keys)} keys` };
  const label = item.others ? drawn("g", { class: "others", ...said }, rect) : drawn("a", { href: item.address, ...said }, rect);
  if (w > 70 && h > 18) {
    const room = Math.floor((w - 12) / 7);
    label.append(drawn("text", { x: x + 7, y: y + 16 }, cut(name, room)));
    if (h > 36) label.append(drawn("text", { x: x + 7, y: y + 32 }, cut(bytes(item.bytes), room)));
  }
  return label;
}

function cut(text, room) {
  return text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text;
}

function squarified(items, scale, width, height) {
  const placed = [];
  let rest = items.map((item) => ({ item, area: item.bytes * scale }));
  let [x, y, w, h] = [0, 0, width, height];
  const worst = (row, side) => {
    const sum = row.reduce((all, it) => all + it.area, 0);
    return Math.max(...row.map((it) => Math.max(side * side * it.area / (sum * sum), sum * sum / (side * side * it.area))));
  };
  while (rest.length > 0 && w > 0 && h > 0) {
    const side = Math.min(w, h);
    let taken = 1;
    while (taken < rest.length && worst(rest.slice(0, taken + 1), side) <= worst(rest.slice(0, taken), side)) taken++;
    const row = rest.slice(0, taken), sum = row.reduce((all, it) => all + it.area, 0);
    const thick = sum / side;
    let at = 0;
    for (const { item, area } of row) {
      const long = area / thick;
      placed.push(w >= h ? { item, x, y: y + at, w: thick, h: long } : { item, x: x + at, y, w: long, h: thick });
      at += long;
    }
    if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    rest = rest.slice(taken);
  }
  return placed;
}

/** Graphs of patterns that are tied to each other, side by side. */
export function graphs(nodes, ties) {
  // Two that mirror each other are tied once.
  const known = new Set();
  ties = ties.filter(({ from, to }) => !known.has(`${to} ${from}`) && known.add(`${from} ${to}`));
  const group = new Map(nodes.map((node) => [node.id, node.id]));
  const root = (id) => { while (group.get(id) !== id) id = group.get(id); return id; };
  for (const { from, to } of ties) group.set(root(to), root(from));
  const roots = [...new Set(nodes.map((node) => root(node.id)))];
  const drawings = roots.map((one) => graph(nodes.filter((node) => root(node.id) === one), ties.filter((tie) => root(tie.from) === one)));
  const wide = drawings.filter((it) => it.columns > 2), narrow = drawings.filter((it) => it.columns <= 2);
  return element("div", {}, wide.map((it) => it.svg), element("div", { class: "graphs" }, narrow.map((it) => it.svg)));
}

/** Patterns in columns, sources on the left, and what ties them. */
function graph(nodes, ties) {
  const depth = new Map(nodes.map((node) => [node.id, 0]));
  for (let round = 0; round < nodes.length; round++) {
    let isMoved = false;
    for (const { from, to } of ties) {
      if (depth.get(to) < depth.get(from) + 1 && depth.get(from) + 1 < 6) {
        depth.set(to, depth.get(from) + 1);
        isMoved = true;
      }
    }
    if (!isMoved) break;
  }
  const columns = Array.from({ length: 1 + Math.max(...depth.values()) }, () => []);
  for (const node of nodes) columns[depth.get(node.id)].push(node);
  const wide = 252, gap = 96, high = 44, place = new Map();
  columns.forEach((column, index) => {
    // Beside what they come from, so that fewer lines cross.
    const middle = (node) => {
      const sources = ties.filter((tie) => tie.to === node.id && place.has(tie.from)).map((tie) => place.get(tie.from).y);
      return sources.length > 0 ? sources.reduce((sum, y) => sum + y, 0) / sources.length : 0;
    };
    column.sort((a, b) => middle(a) - middle(b));
    column.forEach((node, row) => place.set(node.id, { x: 4 + index * (wide + gap), y: 6 + row * (high + 12) }));
  });
  const height = 12 + Math.max(...columns.map((column) => column.length)) * (high + 12);
  const width = 8 + columns.length * (wide + gap) - gap;
  const svg = drawn("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Ties between patterns" });
  svg.style.width = width + "px";
  svg.style.height = height + "px";
  for (const { from, to, word } of ties) {
    const a = place.get(from), b = place.get(to);
    const x1 = a.x + wide, y1 = a.y + high / 2, x2 = b.x, y2 = b.y + high / 2, half = (x1 + x2) / 2;
    svg.append(drawn("path", { class: "tie", d: `M${x1} ${y1}C${half} ${y1} ${half} ${y2} ${x2} ${y2}` }),
      drawn("text", { class: "word", x: x2 - 5, y: y2 - 5, "text-anchor": "end" }, word));
  }
  for (const node of nodes) {
    const { x, y } = place.get(node.id);
    svg.append(drawn("a", { href: node.address, "data-tip": `${shown(node.pattern)}\n${shown(node.keyspace)} · ${node.type}` },
      drawn("rect", { x, y, width: wide, height: high, rx: 8 }),
      drawn("text", { x: x + 10, y: y + 19 }, cut(shown(node.pattern), 33)),
      drawn("text", { class: "word", x: x + 10, y: y + 35 }, node.keys === undefined ? node.type : `${node.type} · ${count(node.keys)} keys`)));
  }
  return { svg, columns: columns.length };
}
