// What expires when: bars of the next hour and day, and how memory would go.

import { columns, forecast } from "./plot.js";
import { bytes, card, count, element, share, time, tiles } from "./text.js";

/** Bars of five minutes each, and of an hour each: the first hour is the sum of the former. */
function hourly(within) {
  const minutes = within.filter((it) => it.seconds <= 3600);
  const first = minutes.reduce((sum, it) => ({ seconds: 3600, keys: sum.keys + it.keys, bytes: sum.bytes + it.bytes }), { keys: 0, bytes: 0 });
  return [minutes, [first, ...within.filter((it) => it.seconds > 3600 && it.seconds <= 86400)]];
}

/** Columns of keys that end one after another. */
function bars(title, items, label) {
  let before = 0;
  return columns(title, items.map((it, at) => {
    const from = before;
    before = it.seconds;
    const said = `${count(it.keys)} keys, ${bytes(it.bytes)}\nend in ${from === 0 ? "up to" : time(from) + " to"} ${time(it.seconds)}`;
    return { value: it.keys, said, label: label(it, at) };
  }), count);
}

/** Memory at the end of each time, if nothing were written. */
function left(found) {
  const points = [{ seconds: 0, bytes: found.bytes }];
  for (const it of found.within) points.push({ seconds: it.seconds, bytes: points[points.length - 1].bytes - it.bytes });
  return points;
}

/** The parts of a page about what ends when. */
export function endings(found, title = "What expires when") {
  if (found.refused) return [card(title, element("p", { class: "note" }, found.refused))];
  if (found.keys === 0) return [card(title, element("p", { class: "note" }, "There are no keys."))];
  if (found.keys === found.none.keys) return [card(title, element("p", { class: "note" }, "No key has an end: nothing is freed unless somebody deletes it."))];
  const [minutes, hours] = hourly(found.within);
  const day = left(found).filter((it) => it.seconds <= 86400);
  const freed = (within) => found.bytes - left(found).filter((it) => it.seconds <= within).pop().bytes;
  const about = found.exact ? "" : " Counts are estimated, since there are very many.";
  return [
    card(title,
      element("div", { class: "pair" },
        bars("the next hour, by five minutes", minutes, (it, at) => (at % 3 === 2 ? it.seconds / 60 + " min" : "")),
        bars("the next day, by hours", hours, (it, at) => (at % 4 === 3 ? it.seconds / 3600 + " h" : ""))),
      element("p", { class: "soft" }, `Later than a day: ${count(found.within.filter((it) => it.seconds > 86400).reduce((sum, it) => sum + it.keys, found.later.keys))} keys. Without an end: ${count(found.none.keys)} keys.` + about)),
    card("To be freed: memory if nothing were written",
      tiles([["freed within an hour", bytes(freed(3600))], ["within a day", bytes(freed(86400))],
        ["within 30 days", bytes(freed(30 * 86400))],
        ["never, without an end", `${bytes(found.none.bytes)}`], ["of it stays for ever", share(found.bytes > 0 ? found.none.bytes / found.bytes : null)]]),
      forecast("Memory over the next day", day.map((it) => [it.seconds, it.bytes]), bytes),
      element("p", { class: "soft" }, "A key counts with the mean size of its pattern.")),
  ];
}
