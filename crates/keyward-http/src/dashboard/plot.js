// Plots: lines and bars over time, with axes, a grid and what is told of a place.
//
// A drawing is stretched to the room that it has, so that nothing is measured; words stand beside
// it, at shares of its width and height, and keep their size.

import { told } from "./patch.js";
import { clock, drawn, element, time } from "./text.js";

const WIDTH = 600, HEIGHT = 150;
/** Spans of time between labels, in seconds. */
const SPANS = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

/** A scale from zero to beyond the most, in steps that people read: of thousands, or of 1024. */
export function scale(most, { base = 1000, least = 1, wanted = 3 } = {}) {
  const raw = Math.max(most / wanted, least);
  const unit = base ** Math.floor(Math.log(raw) / Math.log(base) + 1e-9);
  const steps = base === 1024 ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] : [1, 2, 5, 10, 20, 50, 100, 200, 500];
  const step = unit * (steps.find((it) => it * unit >= raw * 0.999) ?? base);
  const count = Math.max(1, Math.ceil(most / step - 1e-9));
  return { top: count * step, ticks: Array.from({ length: count + 1 }, (_, at) => at * step) };
}

/** An element at a share of the room of its parent. */
function at(made, side, share) {
  made.style[side] = `${(100 * share).toFixed(2)}%`;
  return made;
}

/** A plot with its labels. `across`: labels below at shares of the width; `tell`: of such a share,
 *  the text about the place that is nearest, where that is, and the dots on it. */
function framed(plot, { top, ticks }, format, across, tell) {
  const field = element("div", { class: "field" },
    ticks.map((tick) => at(element("i", { class: tick === 0 ? "floor" : "rule" }), "bottom", tick / top)),
    plot, element("i", { class: "cursor" }));
  if (tell) told.set(field, tell);
  return element("div", { class: "plot" },
    element("div", { class: "ys", "aria-hidden": "true" }, ticks.map((tick) => at(element("span", {}, format(tick)), "bottom", tick / top))),
    field,
    element("div", { class: "xs", "aria-hidden": "true" }, across.map(({ share, label }) => at(element("span", { class: share > 0.97 ? "last" : null }, label), "left", share))));
}

/** Labels of the time that is past: by the clock, or, of little time, how long ago. */
function before(seconds, now) {
  const span = SPANS.find((it) => seconds / it <= 5) ?? 86400;
  if (seconds < 240) {
    return Array.from({ length: Math.floor(seconds / span) + 1 }, (_, at) => ({ share: 1 - at * span / seconds, label: at === 0 ? "now" : `−${time(at * span)}` }));
  }
  const found = [], last = now / 1000, zone = new Date(now).getTimezoneOffset() * 60;
  for (let it = Math.floor((last - zone) / span) * span + zone; it > last - seconds; it -= span) {
    found.push({ share: 1 - (last - it) / seconds, label: clock(it * 1000) });
  }
  return found;
}

/** A path through values at even distances; where there is none, there is a gap. */
function path(values, top) {
  let line = "", isOpen = false;
  values.forEach((value, index) => {
    if (value === null) { isOpen = false; return; }
    const [x, y] = [index * WIDTH / (values.length - 1), HEIGHT * (1 - value / top)];
    line += (isOpen ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1);
    isOpen = true;
  });
  return line;
}

/** Lines of the time that is past, to now. `series`: each with a name, its values and its tone. */
export function timeline(title, series, { format, every, base, least, empty = "The line begins with the second sample." }) {
  const known = series.flatMap((one) => one.values.filter((value) => value !== null));
  const slots = series[0].values.length, seconds = every * (slots - 1), now = Date.now();
  const last = (one) => one.values[slots - 1] ?? null;
  const head = series.map((one) => element("span", { class: "now" },
    series.length > 1 ? element("i", { class: `dot ${one.tone}` }) : null,
    element("b", {}, last(one) === null ? "–" : format(last(one))), series.length > 1 ? ` ${one.name}` : null));
  const caption = element("figcaption", {}, element("span", { class: "soft" }, title), element("span", { class: "nows" }, head));
  if (known.length <= series.length) return element("figure", { class: "tile" }, caption, element("p", { class: "soft waits" }, empty));
  const found = scale(Math.max(...known), { base, least });
  const svg = drawn("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${title}: ${series.map((one) => `${one.name} ${last(one) === null ? "–" : format(last(one))}`).join(", ")}` });
  series.forEach((one, index) => {
    const line = path(one.values, found.top), first = one.values.findIndex((value) => value !== null);
    if (index === 0 && first >= 0) {
      svg.append(drawn("path", { class: `area ${one.tone}`, d: `${line.replaceAll("M", "L").replace("L", "M")}L${WIDTH} ${HEIGHT}L${(first * WIDTH / (slots - 1)).toFixed(1)} ${HEIGHT}Z` }));
    }
    svg.append(drawn("path", { class: `line ${one.tone}`, d: line }));
  });
  const tell = (share) => {
    const index = Math.round(share * (slots - 1)), own = series.filter((one) => one.values[index] !== null);
    if (own.length === 0) return null;
    const ago = (slots - 1 - index) * every;
    const names = own.map((one) => (series.length > 1 ? `${one.name} ${format(one.values[index])}` : format(one.values[index])));
    return { text: `${names.join("\n")}\n${clock(now - ago * 1000, true)}${ago > 0 ? `, ${time(ago)} ago` : ""}`, share: index / (slots - 1),
      dots: own.map((one) => one.values[index] / found.top) };
  };
  return element("figure", { class: "tile" }, caption, framed(svg, found, format, before(seconds, now), tell));
}

/** A line through points at their times from now on. */
export function forecast(title, points, format) {
  const last = points[points.length - 1][0], found = scale(Math.max(1, ...points.map(([, value]) => value)), { base: 1024 });
  const svg = drawn("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
  const place = ([when, value]) => `${(WIDTH * when / last).toFixed(1)} ${(HEIGHT * (1 - value / found.top)).toFixed(1)}`;
  const line = "M" + points.map(place).join("L");
  svg.append(drawn("path", { class: "area tone1", d: `${line}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z` }), drawn("path", { class: "line tone1", d: line }));
  const near = (share) => points.reduce((best, point) => (Math.abs(point[0] - share * last) < Math.abs(best[0] - share * last) ? point : best));
  const tell = (share) => {
    const [when, value] = near(share);
    return { text: `${format(value)}\n${when === 0 ? "now" : `in ${time(when)}`}`, share: when / last, dots: [value / found.top] };
  };
  const span = SPANS.find((it) => last / it <= 6) ?? 86400;
  const across = Array.from({ length: Math.floor(last / span) + 1 }, (_, index) => ({ share: index * span / last, label: index === 0 ? "now" : `in ${time(index * span)}` }));
  return element("figure", {}, element("figcaption", { class: "soft" }, title), framed(svg, found, format, across, tell));
}

/** Columns whose heights are figures, with a sentence for each. `labels`: below some of their right edges. */
export function columns(title, items, format) {
  const found = scale(Math.max(1, ...items.map((it) => it.value)));
  const made = items.map((it) => {
    const bar = element("div", { class: "bar" });
    bar.style.height = (it.value > 0 ? Math.max(1.5, 100 * it.value / found.top) : 0) + "%";
    return element("div", { class: "column", tabindex: 0, role: "img", "data-tip": it.said, "aria-label": it.said.replace("\n", " ") }, bar);
  });
  const across = items.flatMap((it, index) => (it.label ? [{ share: (index + 1) / items.length, label: it.label }] : []));
  return element("figure", {}, element("figcaption", { class: "soft" }, title),
    framed(element("div", { class: "bars" }, made), found, format, [{ share: 0, label: "now" }, ...across], null));
}
