// The page of one pattern: its figures over time, what the schema says of it, what it holds.

import { endings } from "./expiry.js";
import { timeline } from "./plot.js";
import { bytes, card, code, count, element, link, list, pattern as named, pill, share, shown, tiles, time, when } from "./text.js";

const ratio = (it) => (it.hits + it.misses > 0 ? it.hits / (it.hits + it.misses) : null);

export function pattern({ it, about, past, ties, overview, keys, look, ends, misfits, refusals }) {
  return [
    head(it),
    tiles([
      ["keys" + (it.expected ? ` of ${count(it.expected)} expected` : ""), count(it.keys), it.expected && it.keys > it.expected ? "warn" : "", it.expected ? it.keys / it.expected : undefined],
      ["memory", bytes(it.bytes)],
      ["left to live, mean", it.expiring > 0 ? time(it.remaining) : "no lifetime"],
      ["reads that found", share(ratio(it))],
      ["misfits", count(it.misfits), it.misfits > 0 ? "warn" : ""],
      ["refused", count(it.refused), it.refused > 0 ? "bad" : ""],
    ]),
    course(past),
    element("div", { class: "halves" }, said(it, about), element("div", {}, written(about), tied(it, ties, overview), reasons(it))),
    ...endings(ends),
    someKeys(keys, look),
    misfitting(it, misfits),
    refusedOf(it, refusals),
  ].filter((part) => part !== null);
}

/** Its name, and where it belongs. */
function head(it) {
  return element("h1", {}, element("nav", { class: "way", "aria-label": "Way" }, element("a", { href: "#/memory" }, "Memory"), " / ",
    element("a", { href: `#/memory?filter=${encodeURIComponent(it.keyspace)}` }, shown(it.keyspace)), ` ${it.db}`, it.group ? ` / ${shown(it.group)}` : ""),
    named(it.pattern), it.type ? pill(it.type) : null);
}

/** Its figures over time: the axis is as long as the title says, however few samples there are. */
function course({ samples, every, slots, title }) {
  const none = Array(Math.max(0, slots - samples.length)).fill(null);
  const values = (name) => [...none, ...samples.map((sample) => sample[name])];
  const one = (name, tone = "tone1") => [{ name: "", values: values(name), tone }];
  return card(`Its figures, ${title}`, element("div", { class: "charts" },
    timeline("Keys", one("keys"), { format: count, every }),
    timeline("Memory", one("bytes"), { format: bytes, every, base: 1024 }),
    timeline("Reads/s", [{ name: "reads", values: values("reads"), tone: "tone1" }, { name: "missed", values: values("misses"), tone: "tone3" }], { format: count, every, least: 0.1 }),
    timeline("Writes/s", one("writes", "tone2"), { format: count, every, least: 0.1 })));
}

/** What the schema says of it, in words. */
function said(it, about) {
  if (about.facts.length === 0) return card("What the schema says", element("p", { class: "note" }, "Nothing: these keys match no pattern."));
  return card("What the schema says", element("dl", { class: "facts" }, about.facts.flatMap(([title, lines]) =>
    [element("dt", {}, title), element("dd", {}, lines.map((line) => element("div", {}, shown(line))))])));
}

/** Its lines in the schema. */
function written(about) {
  return about.text ? card("Its text", element("pre", { class: "code" }, about.text.trimEnd().replaceAll("\t", "    ").split("\n").map(toml))) : null;
}

/** A line of TOML, its parts told from one another. */
function toml(line) {
  const [, head, sign, value, remark] = /^(\s*\[.*\])()()(\s*#.*)?$/.exec(line) ?? /^([^=#"]+)(=)((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^#"'])*)(#.*)?$/.exec(line) ?? [];
  const part = (style, text) => (text ? element("span", { class: style }, shown(text)) : null);
  if (head === undefined) return element("div", {}, line.trimStart().startsWith("#") ? part("soft", line) : shown(line) || " ");
  return element("div", {}, part(sign ? "name" : "head", head), sign, part("value", value), part("soft", remark));
}

/** What it is tied to. */
function tied(it, ties, overview) {
  const own = ties.ties.filter((tie) => tie.from === it.id || tie.to === it.id);
  if (own.length === 0) return null;
  return card("Tied to", element("dl", { class: "facts" }, own.flatMap((tie) => {
    const isSource = tie.from === it.id;
    const other = overview.patterns.find((one) => one.id === (isSource ? tie.to : tie.from));
    return [element("dt", {}, isSource ? `${tie.word} →` : `← ${tie.word}`), element("dd", {}, other ? link(other) : code(tie.to_pattern))];
  })));
}

function reasons(it) {
  const own = Object.entries(it.reasons).filter(([, number]) => number > 0);
  return own.length === 0 ? null : card("Refused, by reason", element("dl", { class: "facts" },
    own.flatMap(([reason, number]) => [element("dt", {}, reason), element("dd", {}, count(number))])));
}

/** How much a key holds, if that is more than is shown. */
function more({ type, parts, length }) {
  const isText = type === "string", isCut = length > (isText ? 300 : parts.length);
  return isCut ? element("div", { class: "soft" }, isText ? `… ${length} bytes in all` : `… ${length} in all`) : null;
}

/** Some keys and what they hold, once somebody asked for them. */
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
    [code(one.key), one.reasons.map((reason) => element("div", {}, shown(reason)))]), "None was met in the first rows.");
}

/** The last commands that broke what is said of it. */
function refusedOf(it, found) {
  if (!found) return null;
  if (found.refused) return card("The last refusals", element("p", { class: "soft" }, shown(found.refused)));
  const own = found.refusals.filter((one) => one.db === it.db && one.pattern === it.pattern);
  if (own.length === 0) return null;
  return list("The last refusals", ["-when", "-", "command", "why", "-client"], own.map((one) =>
    [when(one.time), pill(one.outcome, one.outcome === "refused" ? "critical" : "warning"), code(one.command.join(" ")), code(one.reason), code(`${one.address} ${one.name}`)]), "");
}
