// The first page: what the server is doing, which patterns take the memory, and what grows.

import { firing } from "./alerts.js";
import { spark } from "./charts.js";
import { keep } from "./patch.js";
import { timeline } from "./plot.js";
import { bytes, card, code, count, element, link, meter, share, shown, tiles, time } from "./text.js";
import { toneOf, treemap } from "./treemap.js";

const ratio = (it) => (it.hits + it.misses > 0 ? it.hits / (it.hits + it.misses) : null);
/** Lines of a list of what leads. */
const LEADERS_MAX = 5;

/** Columns of the table of patterns: title, what is sorted by, what is shown, and of the most of
 *  all of them. */
const COLUMNS = [
  ["Pattern", (it) => it.pattern, link, "left long"],
  ["Keyspace", (it) => it.keyspace, (it, { keyspaces }) => [element("i", { class: `dot ${toneOf(keyspaces, it.keyspace)}` }), code(it.keyspace)], "left rare"],
  ["Keys", (it) => it.keys, (it) => figure(it.keys)],
  ["Memory", (it) => it.bytes, (it, { most }) => [element("span", { class: it.bytes > 0 ? "" : "soft" }, bytes(it.bytes)), meter(most > 0 ? it.bytes / most : 0)], "barred"],
  ["last hour", (it) => it.growth, (it) => spark(it.spark, "Memory of " + shown(it.pattern)), "rare"],
  ["Reads/s", (it) => it.reads_rate, (it) => figure(it.reads_rate)],
  ["Found", ratio, (it) => share(ratio(it))],
  ["Misses/s", (it) => it.misses_rate, (it) => figure(it.misses_rate)],
  ["Writes/s", (it) => it.writes_rate, (it) => figure(it.writes_rate)],
  ["Expired", (it) => it.expired, (it) => figure(it.expired), "rare"],
  ["Evicted", (it) => it.evicted, (it) => figure(it.evicted), "rare"],
  ["Refused", (it) => it.refused, (it) => figure(it.refused, "bad")],
  ["Misfits", (it) => it.misfits, (it) => figure(it.misfits, "warn"), "rare"],
];

/** A number; where it is nothing it stands back. */
function figure(number, style = "") {
  return element("span", { class: number > 0 ? style : "soft" }, count(number));
}

/** Which patterns take the memory. */
export function memory({ overview, alerts, past, filter, sort, setSort, width }) {
  const wanted = filter.toLowerCase(), isGoverned = overview.patterns.length > 0;
  const patterns = overview.patterns.filter((it) =>
    `${it.keyspace} ${it.pattern} ${it.group}`.toLowerCase().includes(wanted));
  const keyspaces = [...new Set(overview.patterns.map((it) => it.keyspace))];
  return [
    firing(alerts),
    figures(overview),
    isGoverned ? element("div", { class: "charts three" }, ...course(past)) : null,
    patterns.some((it) => it.bytes > 0) ? card("Memory by pattern", treemap(patterns, keyspaces, width, width < 600 ? 300 : 360)) : null,
    isGoverned ? leaders(patterns) : null,
    card(`${patterns.filter((it) => it.pattern).length} patterns`, patterns.length > 0 ? table(patterns, keyspaces, sort, setSort)
      : element("p", { class: "note" }, wanted ? "No pattern has this in its name, its group or its keyspace." : "The server has no schema: KEYWARD SCHEMA PLAN and APPLY give it one.")),
  ].filter((part) => part !== null);
}

/** The server in figures. */
function figures(overview) {
  const server = overview.server, all = (name) => overview.patterns.reduce((sum, it) => sum + it[name], 0);
  const reads = server.hits + server.misses;
  return tiles([
    ["memory in use", bytes(server.memory)],
    ...(overview.patterns.length > 0 ? [["keys", count(all("keys"))]] : []),
    ["commands/s", count(server.commands_rate)],
    ["clients", count(server.clients)],
    ["reads that found", share(reads > 0 ? server.hits / reads : null)],
    ["refused", count(all("refused")), all("refused") > 0 ? "bad" : ""],
    ...overview.keyspaces.filter((it) => it.limit).map((it) =>
      [it.name, [share(it.bytes / it.limit), element("small", {}, ` of ${bytes(it.limit)}`)], it.bytes / it.limit > 0.8 ? "bad" : "", it.bytes / it.limit]),
  ]);
}

/** All patterns together over time. */
function course({ samples, every, slots, title }) {
  const none = Array(Math.max(0, slots - samples.length)).fill(null);
  const values = (name) => [...none, ...samples.map((sample) => sample[name])];
  const one = (name, tone = "tone1") => [{ name: "", values: values(name), tone }];
  return [
    timeline(`Memory of all keys, ${title}`, one("bytes"), { format: bytes, every, base: 1024 }),
    timeline("Reads/s", [{ name: "reads", values: values("reads"), tone: "tone1" }, { name: "missed", values: values("misses"), tone: "tone3" }], { format: count, every, least: 0.1 }),
    timeline("Writes/s", one("writes", "tone2"), { format: count, every, least: 0.1 }),
  ];
}

/** What grows, what is missed and what is refused: the first of each. */
function leaders(patterns) {
  const first = (by) => patterns.filter((it) => by(it) > 0).sort((a, b) => by(b) - by(a)).slice(0, LEADERS_MAX);
  const list = (title, by, show, empty) => {
    const own = first(by);
    const made = element("section", { class: "card" }, element("h2", {}, title), own.length > 0
      ? element("ol", { class: "leaders" }, own.map((it) => element("li", {}, link(it), element("b", {}, show(it)), meter(by(it) / by(own[0])))))
      : element("p", { class: "soft" }, empty));
    made.key = title;
    return made;
  };
  return element("div", { class: "charts three" },
    list("Grows most", (it) => it.growth, (it) => `+${bytes(it.growth)}`, "Nothing has grown in the last hour."),
    list("Missed most", (it) => it.misses_rate, (it) => `${count(it.misses_rate)}/s`, "No read has missed its key lately."),
    list("Refused most", (it) => it.refused, (it) => count(it.refused), "Nothing broke the schema."));
}

const isText = (style) => Boolean(style?.startsWith("left"));

function table(patterns, keyspaces, sort, setSort) {
  const [, by] = COLUMNS.find(([title]) => title === sort.by) ?? COLUMNS[3];
  const way = sort.isUp ? 1 : -1, most = Math.max(...patterns.map((it) => it.bytes));
  const sorted = [...patterns].sort((a, b) => {
    const [left, right] = [by(a), by(b)];
    // What was never read is last, whichever way.
    if (left === null || right === null) return (left === null) - (right === null);
    return way * (typeof left === "string" ? left.localeCompare(right) : left - right);
  });
  const head = COLUMNS.map(([title, , , style]) => {
    const isIt = title === sort.by;
    return element("th", { class: style, scope: "col", "aria-sort": isIt ? (sort.isUp ? "ascending" : "descending") : null },
      element("button", { type: "button", onclick: () => setSort({ by: title, isUp: isIt ? !sort.isUp : isText(style) }) }, title));
  });
  const rows = sorted.map((it) => {
    const cells = COLUMNS.map(([title, by, show, style]) => ({
      key: title, sign: title === "last hour" ? it.spark.join() : title === "Memory" ? `${it.bytes} ${(it.bytes / most).toFixed(3)}` : String(by(it)),
      make: () => element("td", { class: style, "data-title": title }, show(it, { most, keyspaces })),
    }));
    return { key: it.address, sign: cells.map((cell) => cell.sign).join("\n"), make: () => keep(element("tr"), cells) };
  });
  return element("table", { class: "stacked patterns" }, element("thead", {}, element("tr", {}, head)), keep(element("tbody"), rows));
}
