// The views: what each shows of the server's answers.

import { chart, graphs, spark, treemap } from "./charts.js";
import { endings } from "./expiry.js";
import { keep } from "./patch.js";
import { bytes, card, code, count, element, share, shown, shownLines, tiles, time } from "./text.js";

const link = (it) => element("a", { href: it.address }, code(it.pattern || "(no pattern)"));
const ratio = (it) => (it.hits + it.misses > 0 ? it.hits / (it.hits + it.misses) : null);

/** Columns of the table of patterns: title, what is sorted by, what is shown. */
const COLUMNS = [
  ["Pattern", (it) => it.pattern, link, "left long"],
  ["Keyspace", (it) => it.keyspace, (it) => code(it.keyspace), "left rare"],
  ["Keys", (it) => it.keys, (it) => count(it.keys)],
  ["Memory", (it) => it.bytes, (it) => bytes(it.bytes)],
  ["last hour", (it) => it.growth, (it) => spark(it.spark, "Memory of " + shown(it.pattern)), "rare"],
  ["Reads/s", (it) => it.reads_rate, (it) => count(it.reads_rate)],
  ["Found", ratio, (it) => share(ratio(it))],
  ["Misses/s", (it) => it.misses_rate, (it) => count(it.misses_rate)],
  ["Writes/s", (it) => it.writes_rate, (it) => count(it.writes_rate)],
  ["Expired", (it) => it.expired, (it) => count(it.expired), "rare"],
  ["Evicted", (it) => it.evicted, (it) => count(it.evicted), "rare"],
  ["Refused", (it) => it.refused, (it) => mark(it.refused, "bad")],
  ["Misfits", (it) => it.misfits, (it) => mark(it.misfits, "warn"), "rare"],
];

function mark(number, style) {
  return element("span", { class: number > 0 ? style : "soft" }, count(number));
}

/** Which patterns take the memory. */
export function memory({ overview, filter, sort, setSort, width }) {
  const wanted = filter.toLowerCase();
  const patterns = overview.patterns.filter((it) =>
    `${it.keyspace} ${it.pattern} ${it.group}`.toLowerCase().includes(wanted));
  const server = overview.server;
  const parts = [tiles([
    ["memory in use", bytes(server.memory)],
    ["keys", count(overview.patterns.reduce((sum, it) => sum + it.keys, 0))],
    ["commands a second", count(server.commands_rate)],
    ["clients", count(server.clients)],
    ["found of what was read", share(server.hits + server.misses > 0 ? server.hits / (server.hits + server.misses) : null)],
    ["refused", count(overview.patterns.reduce((sum, it) => sum + it.refused, 0))],
    ...overview.keyspaces.filter((it) => it.limit).map((it) =>
      [`${it.name} of ${bytes(it.limit)}`, share(it.bytes / it.limit), it.bytes / it.limit > 0.8 ? "bad" : ""]),
  ])];
  if (patterns.some((it) => it.bytes > 0)) parts.push(card("Memory by pattern", legend(patterns), treemap(patterns, width, width < 600 ? 260 : 340)));
  parts.push(card(`${patterns.length} patterns`, table(patterns, sort, setSort)));
  return parts;
}

/** Which tone is which keyspace. */
function legend(patterns) {
  const names = [...new Set(patterns.map((it) => it.keyspace))];
  if (names.length < 2) return null;
  return element("p", { class: "legend" }, names.map((name, at) =>
    element("span", {}, element("i", { class: "tone" + (at % 6 + 1) }), shown(name))));
}

const isText = (style) => Boolean(style?.startsWith("left"));

function table(patterns, sort, setSort) {
  const [, by] = COLUMNS.find(([title]) => title === sort.by) ?? COLUMNS[3];
  const way = sort.isUp ? 1 : -1;
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
      key: title, sign: title === "last hour" ? it.spark.join() : String(by(it)),
      make: () => element("td", { class: style, "data-title": title }, show(it)),
    }));
    return { key: it.address, sign: cells.map((cell) => cell.sign).join("\n"), make: () => keep(element("tr"), cells) };
  });
  return element("table", { class: "stacked patterns" }, element("thead", {}, element("tr", {}, head)), keep(element("tbody"), rows));
}

/** How much a key holds, if that is more than is shown. */
function more({ type, parts, length }) {
  const isText = type === "string", isMasked = parts.some(([, value]) => value === "(redacted)");
  const isCut = isText ? length > 300 && !isMasked : length > parts.length;
  return isCut ? element("div", { class: "soft" }, isText ? `… ${length} bytes in all` : `… ${length} in all`) : null;
}

/** Keys of a pattern and what they hold, once somebody asked for them. */
function someKeys(keys, look) {
  const button = element("button", { class: "look", type: "button", onclick: look }, keys ? "Look again" : "Look at some keys");
  if (!keys) return card("Keys", element("p", { class: "soft" }, "Looking reads some keys as you, and counts as reading."), button);
  const why = keys.refused ?? keys.why;
  const rows = (keys.keys ?? []).map((key) => element("tr", {},
    element("td", { class: "left wrap", "data-title": "key" }, code(key.name)),
    element("td", { "data-title": "left" }, key.left === null ? "–" : time(key.left)),
    element("td", { class: "left wrap", "data-title": "what it holds" }, key.parts.map(([name, value]) => element("div", { class: "part" },
      name ? element("span", { class: "soft code" }, shown(name) + " ") : null,
      element("span", { class: value === "(redacted)" ? "mask code" : "code" }, value === "(redacted)" ? "masked" : shown(value)))), more(key))));
  return card("Keys", why ? element("p", { class: "soft" }, shown(why)) : null,
    rows.length > 0 ? element("table", { class: "stacked" }, element("thead", {}, element("tr", {},
      ["key", "left", "what it holds"].map((title, at) => element("th", { scope: "col", class: at === 1 ? "soft" : "left soft" }, title)))),
      element("tbody", {}, rows)) : element("p", { class: "note" }, why ? "" : "There are none at the moment."), button);
}

/** Keys that do not fit and are kept. */
function misfitting(it, found) {
  if (!found) return null;
  const title = `Misfits, ${count(it.misfits)} in all`;
  const why = found.refused ?? found.why;
  if (why) return card(title, element("p", { class: "soft" }, shown(why)));
  return list(title, ["key", "why"], found.misfits.map((one) =>
    [code(one.key), one.reasons.map((reason) => element("div", {}, shown(reason)))]), "None was met in the first rows.")[0];
}

/** The last commands that broke what is said of a pattern. */
function refusedOf(it, found) {
  if (!found || found.refused) return null;
  const own = found.refusals.filter((one) => one.db === it.db && one.pattern === it.pattern);
  if (own.length === 0) return null;
  return list("The last refusals", ["-when", "-", "command", "why", "-client"], own.map((one) =>
    [when(one.time), one.outcome, code(one.command.join(" ")), code(one.reason), code(`${one.address} ${one.name}`)]), "")[0];
}

/** One pattern. */
export function pattern({ it, about, history, ties, overview, keys, look, ends, misfits, refusals }) {
  const facts = about.facts.flatMap(([title, lines]) =>
    [element("dt", {}, title), element("dd", {}, lines.map((line) => element("div", {}, shown(line))))]);
  // The axis is as long as the title says, however few samples there are.
  const none = Array(Math.max(0, history.slots - history.samples.length)).fill(null);
  const points = (name) => [...none, ...history.samples.map((sample) => sample[name])];
  const ago = (at, all) => `${time((all - 1 - at) * history.every)} ago`;
  const seconds = history.every * (history.slots - 1);
  const drawn = (title, name, format) => chart(title, points(name), format, ago, seconds);
  const reasons = Object.entries(it.reasons).filter(([, number]) => number > 0);
  return [
    element("h1", {}, code(it.pattern || "(no pattern)"), element("span", { class: "soft" }, ` ${it.keyspace}, ${it.db}`)),
    tiles([
      ["keys" + (it.expected ? ` of ${count(it.expected)} expected` : ""), count(it.keys)],
      ["memory", bytes(it.bytes)],
      ["left to live on average", it.expiring > 0 ? time(it.remaining) : "no lifetime"],
      ["found of what was read", share(ratio(it))],
      ["misfits", count(it.misfits), it.misfits > 0 ? "warn" : ""],
      ["refused", count(it.refused), it.refused > 0 ? "bad" : ""],
    ]),
    card(history.title, element("div", { class: "charts" },
      drawn("Keys", "keys", count), drawn("Memory", "bytes", bytes),
      drawn("Reads a second", "reads", count), drawn("Writes a second", "writes", count))),
    ...endings(ends),
    someKeys(keys, look),
    tied(it, ties, overview),
    misfitting(it, misfits),
    refusedOf(it, refusals),
    reasons.length > 0 ? card("Refused, by reason", element("dl", { class: "facts" },
      reasons.flatMap(([reason, number]) => [element("dt", {}, reason), element("dd", {}, count(number))]))) : null,
    facts.length > 0 ? card("What the schema says", element("dl", { class: "facts" }, facts)) : null,
    about.text ? card("Its text", element("pre", { class: "code" }, shownLines(about.text))) : null,
  ];
}

/** What a pattern is tied to. */
function tied(it, ties, overview) {
  const own = ties.ties.filter((tie) => tie.from === it.id || tie.to === it.id);
  if (own.length === 0) return null;
  return card("Tied to", element("dl", { class: "facts" }, own.flatMap((tie) => {
    const isSource = tie.from === it.id;
    const other = overview.patterns.find((one) => one.id === (isSource ? tie.to : tie.from));
    return [element("dt", {}, isSource ? `${tie.word} →` : `← ${tie.word}`),
      element("dd", {}, other ? link(other) : code(tie.to_pattern))];
  })));
}

/** The schema as a document, with figures beside each key. */
export function schemaDocument({ found, overview, filter }) {
  const wanted = filter.toLowerCase();
  const figures = new Map(overview.patterns.map((it) => [it.id, it]));
  return found.keyspaces.flatMap((keyspace) => {
    const keys = keyspace.keys.filter((key) =>
      `${keyspace.name} ${key.pattern} ${key.group ?? ""} ${key.doc ?? ""}`.toLowerCase().includes(wanted));
    if (keys.length === 0) return [];
    const groups = [...new Set(keys.map((key) => key.group ?? ""))];
    return [element("h1", {}, shown(keyspace.name), element("span", { class: "soft" }, ` ${keyspace.db}, ${keys.length} patterns`)),
      ...groups.map((group) => card(group || "Keys", keys.filter((key) => (key.group ?? "") === group).map((key) => {
        const it = figures.get(key.id);
        return element("article", { class: "entry" },
          element("div", {}, it ? link(it) : code(key.pattern), element("span", { class: "soft" }, " " + key.type),
            key.doc ? element("p", {}, shown(key.doc.replace(/\s+/g, " "))) : null,
            (key.lifetime ?? []).map((line) => element("p", { class: "soft" }, shown(line)))),
          it ? element("div", { class: "beside" }, spark(it.spark, "Memory of " + shown(it.pattern)),
            element("b", {}, count(it.keys)), element("span", { class: "soft" }, " keys "),
            element("b", {}, bytes(it.bytes)),
            it.refused > 0 ? element("span", { class: "bad" }, ` ${count(it.refused)} refused`) : null) : null);
      })))];
  });
}

/** Copies of the data: replicas, and tables that rows go to. */
export function replication({ overview, replicas: it, sinks }) {
  const figures = new Map(overview.patterns.map((one) => [one.id, one]));
  const parts = [tiles([
    ["role", it.role === "slave" ? "replica" : "primary"],
    ["replicas", count(it.replicas.length)],
    ["changes sent", bytes(it.offset)],
    ["of the backlog in use", it.backlog_size ? share((it.backlog ?? 0) / it.backlog_size) : "–"],
    ["full synchronisations", count(it.full ?? 0)],
    ["partial ones", count(it.partial ?? 0)],
  ])];
  if (it.primary) parts.push(...list("Its primary", ["address", "link", "last heard"],
    [[code(it.primary.address), element("span", { class: it.primary.link === "up" ? "good" : "bad" }, it.primary.link), time(it.primary.heard ?? 0)]], ""));
  parts.push(...list("Replicas", ["address", "state", "#behind", "#lag"], it.replicas.map((one) =>
    [code(one.address), element("span", { class: one.state === "online" ? "good" : "warn" }, shown(one.state)), bytes(one.behind ?? 0), time(one.lag ?? 0)]),
    "Nobody follows this server."));
  if (sinks.refused) return [...parts, card("Sinks", element("p", { class: "note" }, shown(sinks.refused)))];
  parts.push(...list("Changes that wait to be stored in PostgreSQL", ["keyspace", "#entries", "#the oldest is"], sinks.feeds.map((one) =>
    [code(`${one.keyspace}, ${one.db}`), count(one.entries), one.oldest === null ? "–" : time(one.oldest) + " old"]), "No key has a sink."));
  if (sinks.sinks.length > 0) parts.push(...list("Sinks", ["pattern", "what", "table"], sinks.sinks.map((one) =>
    [figures.has(one.id) ? link(figures.get(one.id)) : code(one.pattern), one.kind, code(one.table)]), ""));
  return parts;
}

/** Ties between patterns. */
export function ties({ found, overview, filter }) {
  const wanted = filter.toLowerCase();
  const own = found.ties.filter((tie) => tie.from_pattern.toLowerCase().includes(wanted) || tie.to_pattern.toLowerCase().includes(wanted));
  const ids = new Set(own.flatMap((tie) => [tie.from, tie.to]));
  const tables = new Map(own.filter((tie) => tie.table).map((tie) =>
    [tie.to, { id: tie.to, pattern: tie.to_pattern, keyspace: "PostgreSQL", type: "table", address: "#/replication" }]));
  const nodes = [...overview.patterns.filter((it) => ids.has(it.id)), ...tables.values()];
  if (nodes.length === 0) return [element("p", { class: "note" }, "No pattern is kept from another one, or lives with one.")];
  const groups = [...new Set(nodes.filter((node) => node.keyspace !== "PostgreSQL").map((node) => `${node.keyspace}, ${node.db}`))];
  return [element("h1", {}, "What is kept from what, and what lives with what"), ...groups.map((group) => {
    const inside = new Set(nodes.filter((node) => `${node.keyspace}, ${node.db}` === group).map((node) => node.id));
    const ties = own.filter((tie) => inside.has(tie.from));
    const ends = new Set(ties.flatMap((tie) => [tie.from, tie.to]));
    return card(group, graphs(nodes.filter((node) => ends.has(node.id)), ties));
  })];
}

const when = (ms) => element("time", { datetime: new Date(ms).toISOString() }, new Date(ms).toLocaleTimeString());

/** A table; of columns whose names begin with # the cells are numbers, with - short texts. */
function list(title, columns, rows, empty, key = (row) => row.textContent) {
  if (rows.length === 0) return [card(title, element("p", { class: "note" }, empty))];
  const style = (at) => ({ "#": "", "-": "left" })[columns[at][0]] ?? "left wrap";
  const name = (at) => columns[at].replace(/^[#-]/, "");
  const drawn = rows.map((row) => {
    const made = element("tr", {}, row.map((cell, at) => element("td", { class: style(at), "data-title": name(at) }, cell)));
    made.key = key(made);
    return made;
  });
  return [card(title, element("table", { class: "stacked" },
    element("thead", {}, element("tr", {}, columns.map((_, at) => element("th", { scope: "col", class: style(at) ? "left soft" : "soft" }, name(at))))),
    element("tbody", {}, drawn)))];
}

export function refusals({ found }) {
  const isOpen = found.refusals.length > 0 && found.refusals.every((it) => it.reason === "shown where a password is set");
  const rows = found.refusals.map((it) => [when(it.time), element("span", { class: it.outcome === "refused" ? "bad" : "warn" }, it.outcome), code(it.pattern || "(no pattern)"),
    code(it.command.join(" ")), ...(isOpen ? [] : [code(it.reason)]), code(`${it.address} ${it.name}`)]);
  const shownList = list("What was refused, and to whom", ["-when", "-", "pattern", "command", ...(isOpen ? [] : ["why"]), "-client"], rows, "Nothing that is remembered broke the schema.");
  if (isOpen) shownList[0].querySelector("h2").after(element("p", { class: "soft" }, "Reasons and arguments are shown where a password is set."));
  return shownList;
}

export function slow({ found }) {
  const rows = found.slow.map((it) => [when(it.time * 1000), time(it.us / 1e6), code(it.command.join(" ")), code(`${it.address} ${it.name}`)]);
  return list("Slow log", ["-when", "#took", "command", "-client"], rows, "No command took long.");
}

export function clients({ found }) {
  const rows = found.clients.map((it) => [code(it.addr), code(it.name), code(it.user), code(it.cmd), time(Number(it.age)), time(Number(it.idle)), bytes(Number(it["tot-mem"]))]);
  return list(`${rows.length} clients`, ["-address", "name", "-user", "-last command", "#since", "#idle", "#memory"], rows, "Nobody is connected.", (row) => row.firstChild.textContent);
}

export function alerts({ found }) {
  const rows = found.alerts.map((it) => [
    element("span", { class: it.until ? "soft" : "bad" }, it.until ? "over" : "fires"), it.severity, it.summary, it.description,
    when(it.since * 1000), it.until ? when(it.until * 1000) : ""]);
  return list("Alerts", ["-", "-severity", "what", "", "-since", "-until"], rows, found.declared > 0
    ? `${found.declared} alerts are watched, and none fires.` : "The schema declares no alerts.");
}
