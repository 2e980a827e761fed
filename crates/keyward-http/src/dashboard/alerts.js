// Alerts: what fires, above the first page, and the log of them.

import { card, element, pill, shown, time } from "./text.js";

/** Alerts that are shown above the first page. */
const SHOWN_MAX = 4;
/** How much each severity matters. */
const WEIGHT = { critical: 2, warning: 1, info: 0 };

const ago = (seconds) => time(Math.max(0, Math.round(Date.now() / 1000 - seconds)));
const moment = (seconds) => element("time", { datetime: new Date(seconds * 1000).toISOString() }, new Date(seconds * 1000).toLocaleString([], { hourCycle: "h23" }));

/** An alert with its sentence. */
function entry(it) {
  const made = element("li", { class: `alert ${it.until ? "over" : it.severity}` },
    pill(it.until ? "over" : it.severity, it.until ? "" : it.severity),
    element("div", {}, element("b", {}, shown(it.summary)), element("p", {}, shown(it.description))),
    element("span", { class: "soft when" }, it.until ? [moment(it.since), element("br"), `for ${time(it.until - it.since)}`] : [`since ${ago(it.since)}`, element("br"), moment(it.since)]));
  made.key = `${it.name} ${it.summary} ${it.since}`;
  return made;
}

/** What fires now, for the first page; where alerts are watched and none fires, that. */
export function firing(found) {
  if (!found || found.refused || found.declared === 0) return null;
  const own = found.alerts.filter((it) => !it.until).sort((a, b) => WEIGHT[b.severity] - WEIGHT[a.severity]);
  const made = own.length === 0
    ? element("p", { class: "calm" }, element("i", { class: "dot good" }), `${found.declared} ${found.declared === 1 ? "alert is" : "alerts are"} watched, and none fires. `, element("a", { href: "#/alerts" }, "Log"))
    : element("section", { class: `card fires ${own[0].severity}`, "aria-label": "Alerts that fire" }, element("ul", { class: "alerts" }, own.slice(0, SHOWN_MAX).map(entry)),
      element("p", { class: "soft" }, own.length > SHOWN_MAX ? `${own.length - SHOWN_MAX} more. ` : "", element("a", { href: "#/alerts" }, "All alerts")));
  made.key = own.length === 0 ? "calm" : "fires";
  return made;
}

/** The log: what fires, and what did. */
export function alerts({ found }) {
  if (found.declared === 0 && found.alerts.length === 0) return [card("Alerts", element("p", { class: "note" }, "The schema declares no alerts.\nOne is a line beside a key, as in alert.hit_ratio = \"< 70%\"."))];
  const now = found.alerts.filter((it) => !it.until), over = found.alerts.filter((it) => it.until);
  const list = (own, empty) => (own.length > 0 ? element("ul", { class: "alerts" }, own.map(entry)) : element("p", { class: "note" }, empty));
  return [
    card("Alerts that fire", list(now, "None.")),
    card("What fired before", list(over, "Nothing, since the server began.")),
    card("What is watched", element("ul", { class: "watched" }, (found.watched ?? []).map((it) => element("li", {}, pill(it.severity, it.severity), shown(it.summary))))),
  ];
}
