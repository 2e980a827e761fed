// Drawings: sparklines, and the graph of ties.

import { cut } from "./treemap.js";
import { count, drawn, element, shown } from "./text.js";

/** A small line over time, from zero to its greatest value. */
export function spark(values, title) {
  const [width, height] = [110, 24];
  const svg = drawn("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
  if (values.length < 2) return svg;
  const most = Math.max(...values);
  const y = (value) => height - 2 - (height - 4) * (most > 0 ? value / most : 0);
  const line = values.map((value, index) => `${index > 0 ? "L" : "M"}${(index * width / (values.length - 1)).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  svg.append(drawn("path", { class: "area", d: `${line}L${width} ${height}L0 ${height}Z` }), drawn("path", { class: "line", d: line }));
  return svg;
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
  const wide = 264, gap = 96, high = 46, place = new Map();
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
    svg.append(drawn("path", { class: "tie", d: `M${x1} ${y1}C${half} ${y1} ${half} ${y2} ${x2 - 6} ${y2}` }),
      drawn("path", { class: "tip", d: `M${x2} ${y2}l-8 -4v8z` }),
      drawn("text", { class: "word on", x: x2 - 12, y: y2 - 6, "text-anchor": "end" }, word));
  }
  for (const node of nodes) {
    const { x, y } = place.get(node.id);
    svg.append(drawn("a", { href: node.address, "data-tip": `${shown(node.pattern)}\n${shown(node.keyspace)} · ${node.type}` },
      drawn("rect", { x, y, width: wide, height: high, rx: 8 }), drawn("path", { class: `edge ${node.tone ?? ""}`, d: `M${x + 1} ${y + 9}v${high - 18}` }),
      drawn("text", { x: x + 13, y: y + 20 }, cut(shown(node.pattern), 33)),
      drawn("text", { class: "word", x: x + 13, y: y + 36 }, node.keys === undefined ? node.type : `${node.type} · ${count(node.keys)} keys`)));
  }
  return { svg, columns: columns.length };
}
