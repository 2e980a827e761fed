// The views that are lists: documents, copies, ties, refusals, the slow log, clients.

import { graphs, spark } from "./charts.js";
import { bytes, card, code, count, element, link, list, meter, pill, prose, share, shown, tiles, time, when } from "./text.js";
import { toneOf } from "./treemap.js";

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
          element("div", {}, it ? link(it) : code(key.pattern), " ", pill(key.type),
            key.doc ? element("p", {}, prose(key.doc.replace(/\s+/g, " "))) : null,
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
  if (it.primary) parts.push(list("Its primary", ["address", "link", "last heard"],
    [[code(it.primary.address), element("span", { class: it.primary.link === "up" ? "good" : "bad" }, it.primary.link), time(it.primary.heard ?? 0)]], ""));
  parts.push(list("Replicas", ["address", "state", "#behind", "#lag"], it.replicas.map((one) =>
    [code(one.address), element("span", { class: one.state === "online" ? "good" : "warn" }, shown(one.state)), bytes(one.behind ?? 0), time(one.lag ?? 0)]),
    "Nobody follows this server."));
  if (sinks.refused) return [...parts, card("Sinks", element("p", { class: "note" }, shown(sinks.refused)))];
  parts.push(list("Changes that wait to be stored in PostgreSQL", ["keyspace", "#entries", "#the oldest is"], sinks.feeds.map((one) =>
    [code(`${one.keyspace}, ${one.db}`), count(one.entries), one.oldest === null ? "–" : time(one.oldest) + " old"]), "No key has a sink."));
  if (sinks.sinks.length > 0) parts.push(list("Sinks", ["pattern", "what", "table"], sinks.sinks.map((one) =>
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
  const keyspaces = [...new Set(overview.patterns.map((it) => it.keyspace))];
  const patterns = overview.patterns.filter((it) => ids.has(it.id)).map((it) => ({ ...it, tone: toneOf(keyspaces, it.keyspace) }));
  const nodes = [...patterns, ...tables.values()];
  if (nodes.length === 0) return [element("p", { class: "note" }, "No pattern is kept from another one, or lives with one.")];
  const groups = [...new Set(nodes.filter((node) => node.keyspace !== "PostgreSQL").map((node) => `${node.keyspace}, ${node.db}`))];
  return [element("h1", {}, "What is kept from what, and what lives with what"), ...groups.map((group) => {
    const inside = new Set(nodes.filter((node) => `${node.keyspace}, ${node.db}` === group).map((node) => node.id));
    const ties = own.filter((tie) => inside.has(tie.from));
    const ends = new Set(ties.flatMap((tie) => [tie.from, tie.to]));
    return card(group, graphs(nodes.filter((node) => ends.has(node.id)), ties));
  })];
}

/** Rows that have a text in one of their cells. */
function matching(rows, filter) {
  const wanted = filter.toLowerCase();
  return rows.filter((row) => row.map((cell) => cell.textContent ?? cell).join(" ").toLowerCase().includes(wanted));
}

const outcome = (it) => pill(it.outcome, it.outcome === "refused" ? "critical" : "warning");

export function refusals({ found, overview, filter }) {
  const isOpen = found.refusals.length > 0 && found.refusals.every((it) => it.reason === "shown where a password is set");
  const known = new Map(overview.patterns.map((it) => [`${it.db} ${it.pattern}`, it]));
  const named = (it) => (it.pattern && known.has(`${it.db} ${it.pattern}`) ? link(known.get(`${it.db} ${it.pattern}`)) : code(it.pattern || "(no pattern)"));
  const rows = found.refusals.map((it) => [when(it.time), outcome(it), named(it),
    code(it.command.join(" ")), ...(isOpen ? [] : [code(it.reason)]), code(`${it.address} ${it.name}`)]);
  const made = list("What was refused, and to whom", ["-when", "-", "pattern", "command", ...(isOpen ? [] : ["why"]), "-client"], matching(rows, filter),
    rows.length > 0 ? "None of them has this text." : "Nothing that is remembered broke the schema.");
  if (isOpen) made.querySelector("h2").after(element("p", { class: "soft" }, "Reasons and arguments are shown where a password is set."));
  return [made];
}

export function slow({ found, filter }) {
  const most = Math.max(1, ...found.slow.map((it) => it.us));
  const rows = found.slow.map((it) => [when(it.time * 1000), element("div", { class: "barred" }, time(it.us / 1e6), meter(it.us / most)), code(it.command.join(" ")), code(`${it.address} ${it.name}`)]);
  return [list("Slow log", ["-when", "#took", "command", "-client"], matching(rows, filter), rows.length > 0 ? "None of them has this text." : "No command took long.")];
}

export function clients({ found, filter }) {
  const rows = found.clients.map((it) => [code(it.addr), code(it.name), code(it.user), code(it.cmd), time(Number(it.age)), time(Number(it.idle)), bytes(Number(it["tot-mem"]))]);
  return [list(`${rows.length} clients`, ["-address", "name", "-user", "-last command", "#since", "#idle", "#memory"], matching(rows, filter), "None of them has this text.", (row) => row.firstChild.textContent)];
}
