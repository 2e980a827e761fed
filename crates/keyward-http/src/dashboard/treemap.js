// The treemap: keyspaces, and in each of them its patterns, as areas.

import { keep } from "./patch.js";
import { bytes, count, drawn, shown } from "./text.js";

/** Tiles of patterns; what is beyond is one more in each keyspace. */
const TILES_MAX = 200;
/** The line with a keyspace's name, and what is left free around it. */
const HEAD = 22, GAP = 3;

/** The tone of a keyspace: its place among all of them. */
export const toneOf = (keyspaces, name) => `tone${keyspaces.indexOf(name) % 6 + 1}`;

/** Rectangles whose areas are the bytes of patterns, inside those of their keyspaces. */
export function treemap(patterns, all, width, height) {
  const svg = drawn("svg", { class: "treemap", viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: "none", role: "group", "aria-label": "Memory by keyspace and pattern" });
  const sorted = patterns.filter((it) => it.bytes > 0).sort((a, b) => b.bytes - a.bytes);
  const isLong = sorted.length > TILES_MAX;
  const items = isLong ? sorted.slice(0, TILES_MAX - 1) : sorted, rest = sorted.slice(items.length);
  const total = sum("bytes", sorted);
  const groups = [...new Set(sorted.map(nameOf))].map((name) => {
    const isOwn = (it) => nameOf(it) === name;
    const own = items.filter(isOwn), others = rest.filter(isOwn), every = [...own, ...others];
    if (others.length > 0) own.push({ others: others.length, name, keyspace: others[0].keyspace, bytes: sum("bytes", others), keys: sum("keys", others) });
    return { name, own, count: every.length, bytes: sum("bytes", every), keys: sum("keys", every) };
  });
  const isNested = groups.length > 1;
  const made = [];
  for (const { item, x, y, w, h } of squarified(groups, { x: 0, y: 0, w: width, h: height })) {
    const tone = toneOf(all, item.own[0].keyspace), hasHead = isNested && w > 50 && h > 60;
    if (isNested) made.push(frame({ item, x, y, w, h }, tone, total, hasHead));
    const inner = !isNested ? { x, y, w, h } : { x: x + GAP, y: y + (hasHead ? HEAD : GAP), w: w - 2 * GAP, h: h - GAP - (hasHead ? HEAD : GAP) };
    if (inner.w > 0 && inner.h > 0) for (const place of squarified(item.own, inner)) made.push(leaf(place, tone, total));
  }
  return keep(svg, made);
}

const nameOf = (it) => `${it.keyspace}, ${it.db}`;
const sum = (name, of) => of.reduce((all, it) => all + it[name], 0);
const part = (item, total) => `${Math.round(1000 * item.bytes / total) / 10} %`;

/** A keyspace, with its name above its patterns. */
function frame({ item, x, y, w, h }, tone, total, hasHead) {
  const name = shown(item.name);
  return {
    key: `keyspace ${item.name}`, sign: [x, y, w, h, item.bytes, item.keys, total].join(" "),
    make: () => {
      const said = { class: `frame ${tone}`, "data-tip": `${name}\n${bytes(item.bytes)}, ${part(item, total)}\n${count(item.keys)} keys, ${count(item.count)} patterns with memory` };
      const made = drawn("g", said, drawn("path", { d: `M${x + 1} ${y + 1}h${Math.max(0, w - 2)}v${Math.max(0, h - 2)}h${-Math.max(0, w - 2)}z` }));
      if (hasHead) made.append(drawn("text", { x: x + 7, y: y + 15 }, cut(`${name}  ${bytes(item.bytes)}`, Math.floor((w - 13) / 7))));
      return made;
    },
  };
}

/** A pattern; a tile of others leads nowhere. */
function leaf({ item, x, y, w, h }, tone, total) {
  return {
    key: item.address ?? `others ${item.name}`, sign: [x, y, w, h, item.bytes, item.keys, item.others, total].join(" "),
    make: () => {
      const name = item.others ? `${count(item.others)} others` : shown(item.pattern || "(no pattern)");
      const where = shown(item.keyspace) + (item.others ? ", smaller ones together" : "");
      const said = { class: `${item.others ? "others" : "leaf"} ${tone}`, "aria-label": `${name} ${bytes(item.bytes)}`,
        "data-tip": `${name}\n${where}: ${bytes(item.bytes)}, ${part(item, total)}\n${count(item.keys)} keys` };
      const rect = drawn("rect", { x: x + 0.75, y: y + 0.75, width: Math.max(0.5, w - 1.5), height: Math.max(0.5, h - 1.5), rx: Math.min(3, w / 4, h / 4) });
      const made = item.others ? drawn("g", said, rect) : drawn("a", { href: item.address, ...said }, rect);
      if (w > 54 && h > 20) {
        const room = Math.floor((w - 13) / 7);
        made.append(drawn("text", { x: x + 7, y: y + 16 }, cut(name, room)));
        if (h > 38) made.append(drawn("text", { class: "size", x: x + 7, y: y + 31 }, cut(bytes(item.bytes), room)));
      }
      return made;
    },
  };
}

export function cut(text, room) {
  return text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text;
}

/** Places in a rectangle whose areas are as the items' bytes, none of them long and thin if that
 *  can be (squarified). */
function squarified(items, { x, y, w, h }) {
  const placed = [], of = sum("bytes", items), factor = of > 0 ? w * h / of : 0;
  let rest = [...items].sort((a, b) => b.bytes - a.bytes).map((item) => ({ item, area: item.bytes * factor }));
  const worst = (row, side) => {
    const all = row.reduce((sum, it) => sum + it.area, 0);
    return Math.max(...row.map((it) => Math.max(side * side * it.area / (all * all), all * all / (side * side * it.area))));
  };
  while (rest.length > 0 && w > 0 && h > 0) {
    const side = Math.min(w, h);
    let taken = 1;
    while (taken < rest.length && worst(rest.slice(0, taken + 1), side) <= worst(rest.slice(0, taken), side)) taken++;
    const row = rest.slice(0, taken), thick = row.reduce((sum, it) => sum + it.area, 0) / side;
    let from = 0;
    for (const { item, area } of row) {
      const long = area / thick;
      placed.push(w >= h ? { item, x, y: y + from, w: thick, h: long } : { item, x: x + from, y, w: long, h: thick });
      from += long;
    }
    if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    rest = rest.slice(taken);
  }
  return placed;
}
