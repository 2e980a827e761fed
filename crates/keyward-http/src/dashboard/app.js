// The dashboard: which view is shown, what it asks of the server, and when.

import { alerts } from "./alerts.js";
import { endings } from "./expiry.js";
import { memory } from "./memory.js";
import { told, update } from "./patch.js";
import { pattern } from "./pattern.js";
import { planning } from "./plan.js";
import * as views from "./views.js";
import { card, clock, element, shown } from "./text.js";

const EVERY_MS = 2000, OLD_S = 4;
/** How long an answer is waited for, and a plan. */
const PATIENCE_MS = 20_000, PLAN_PATIENCE_MS = 75_000;
/** What a card has on its left and on its right: its border and its padding. */
const CARD_PAD = 17;
const view = document.getElementById("view"), state = document.getElementById("state");
const filter = document.getElementById("filter");
const SORTED = { by: "Memory", isUp: false };
let sort = SORTED, showing = 0, isShown = true, begun = 0;

const addressOf = (it) => `#/pattern/${encodeURIComponent(it.db)}/${encodeURIComponent(it.keyspace)}/${encodeURIComponent(it.pattern)}`;

function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

/** What the server says to a request; what it refuses is an error with its words. */
async function asked(path, options, patience = PATIENCE_MS) {
  let response;
  // The page's own address may have a password in it, which fetch does not take.
  try { response = await fetch(location.origin + "/api/v1/" + path, { ...options, signal: AbortSignal.timeout(patience) }); } catch { throw new Error("The server does not answer."); }
  if (response.ok) return response.json();
  const words = (await response.text()).trim() || response.statusText;
  throw Object.assign(new Error(response.status >= 500 ? `The server does not answer: ${words}` : words), { isRefusal: response.status < 500 && response.status !== 409 });
}

const ask = (path) => asked(path, { headers: { accept: "application/json" } });
const post = (path, body) => asked(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }, PLAN_PATIENCE_MS);

/** The last figures, and whether they do: for another order or filter nothing is asked. */
let latest = null, isReused = false, isOfFigures = false;

async function overview() {
  isOfFigures = true;
  if (isReused && latest) return latest;
  const found = latest = await ask("overview");
  found.received = Date.now();
  // An id is one of these schemas: under others it is another pattern's.
  for (const it of found.patterns) Object.assign(it, { address: addressOf(it), query: `id=${it.id}&schemas=${found.schemas}` });
  remember(found);
  return found;
}

/** What this page has seen itself in the last minute: figures of each pattern by its address, and of all. */
const seen = [], SEEN_MAX = 31, ALL = "";

function remember(found) {
  const at = performance.now();
  if (seen.length > 0 && at - seen[seen.length - 1].at < EVERY_MS / 2) return;
  const figures = (it) => [it.keys, it.bytes, it.hits + it.misses, it.writes, it.misses];
  const by = new Map(found.patterns.map((it) => [it.address, figures(it)])), all = [0, 0, 0, 0, 0];
  for (const own of by.values()) own.forEach((value, index) => { all[index] += value; });
  seen.push({ at, by: by.set(ALL, all) });
  while (seen.length > SEEN_MAX) seen.shift();
}

/** Spans of time of which the shortest that has all samples is shown, in minutes. */
const SPANS_MIN = [5, 15, 30, 60];

/** The server's samples; before it has some, those of this page. */
function past(address, history) {
  const { samples, every } = history;
  if (samples.length > 4) {
    const minutes = SPANS_MIN.find((it) => samples.length * every <= it * 60) ?? 60;
    return { every, samples, slots: 1 + minutes * 60 / every, title: minutes === 60 ? "the last hour" : `the last ${minutes} minutes` };
  }
  const own = seen.filter((one) => one.by.has(address)).map((one) => ({ at: one.at, figures: one.by.get(address) }));
  const since = own.slice(1).map(({ at, figures }, index) => {
    const rate = (place) => Math.max(0, figures[place] - own[index].figures[place]) * 1000 / (at - own[index].at);
    return { keys: figures[0], bytes: figures[1], reads: rate(2), writes: rate(3), misses: rate(4) };
  });
  if (since.length === 0) since.push(...samples.slice(-1));
  return { every: EVERY_MS / 1000, samples: since, slots: SEEN_MAX, title: "the last minute" };
}

/** What each view needs. */
const VIEWS = {
  memory: async () => {
    const [all, alerts, history] = await Promise.all([overview(), again("alerts"), again("history")]);
    return memory({ overview: all, alerts, past: past(ALL, history), filter: filter.value, sort, setSort, width: Math.max(280, inside()) });
  },
  expiry: async () => endings(await allowed("expiring"), "What expires when, in all databases"),
  plan: async () => planning({ overview: await overview(), ask, post }),
  ties: async () => {
    const [all, found] = await Promise.all([overview(), ask("ties")]);
    return views.ties({ found, overview: all, filter: filter.value });
  },
  document: async () => {
    const [all, found] = await Promise.all([overview(), ask("document")]);
    return views.schemaDocument({ found, overview: all, filter: filter.value });
  },
  replication: async () => {
    const [all, replicas, sinks] = await Promise.all([overview(), ask("replication"), allowed("sinks")]);
    return views.replication({ overview: all, replicas, sinks });
  },
  refusals: async () => {
    const [all, found] = await Promise.all([overview(), ask("refusals")]);
    return views.refusals({ found, overview: all, filter: filter.value });
  },
  slow: async () => views.slow({ found: await ask("slow"), filter: filter.value }),
  clients: async () => views.clients({ found: await ask("clients"), filter: filter.value }),
  alerts: async () => alerts({ found: await ask("alerts") }),
  pattern: async (db, keyspace, text) => {
    const all = await overview();
    const it = all.patterns.find((it) => it.db === db && it.keyspace === keyspace && it.pattern === text);
    if (!it) return [element("p", { class: "note" }, "The schema has no such pattern.")];
    const [about, history, ties, ends, misfits, refusals] = await Promise.all([
      ask("about?" + it.query), ask("history?" + it.query), ask("ties?schemas=" + all.schemas), allowed("expiring?" + it.query),
      it.misfits > 0 ? allowed("misfits?" + it.query) : null, it.refused + it.warned > 0 ? allowed("refusals") : null]);
    return pattern({ it, about, past: past(it.address, history), ties, overview: all, ends, misfits, refusals, keys: looked.get(it.address), look: () => look(it) });
  },
};

/** What was asked for and may be refused: the refusal is shown in its place. */
async function allowed(path) {
  try { return await ask(path); } catch (error) {
    if (!error.isRefusal) throw error;
    return { refused: error.message };
  }
}

/** What was asked for last; for another order or filter nothing is asked. */
const kept = new Map();

async function again(path) {
  if (!isReused || !kept.has(path)) kept.set(path, await ask(path));
  return kept.get(path);
}

/** The width that a card has inside. */
function inside() {
  const style = getComputedStyle(view);
  return view.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 2 * CARD_PAD;
}

/** Keys that somebody asked to see, by the address of their pattern. */
const looked = new Map();

async function look(it) {
  looked.clear();
  // What is wrong but for a refusal is told by the view.
  try { looked.set(it.address, await allowed("keys?" + it.query)); } catch { /* shown again */ }
  show();
}

function setSort(wanted) {
  sort = wanted;
  keepAddress();
  show(true);
}

/** The address says what is filtered and sorted by, so that it can be shared. */
function keepAddress() {
  const [path] = (location.hash || "#/memory").split("?");
  const said = new URLSearchParams();
  if (filter.value) said.set("filter", filter.value);
  if (sort.by !== SORTED.by || sort.isUp !== SORTED.isUp) said.set("sort", (sort.isUp ? "+" : "-") + sort.by);
  const query = said.toString();
  history.replaceState(null, "", path + (query ? "?" + query : ""));
}

function readAddress() {
  const said = new URLSearchParams(location.hash.split("?")[1] ?? "");
  if (document.activeElement !== filter) filter.value = said.get("filter") ?? "";
  const wanted = said.get("sort");
  sort = wanted ? { by: wanted.slice(1), isUp: wanted.startsWith("+") } : SORTED;
}

/** What is said above every view; nothing is said twice. */
function say(text, style) {
  if (state.textContent !== text) state.textContent = text;
  state.className = style;
}

/** Whether figures come, beside the name of the page. */
function live(style, words) {
  const mark = document.getElementById("live");
  mark.className = `dot ${style}`;
  mark.dataset.tip = words;
  view.classList.toggle("stale", style === "bad");
}

/** When figures were taken, if that is not now: a server that is busy with one command has none. */
function aged() {
  if (!latest || !isOfFigures || latest.age < OLD_S) return "";
  return `The server is busy: figures of ${clock(latest.received - latest.age * 1000, true)}`;
}

async function show(mayReuse = false) {
  isReused = mayReuse === true;
  isOfFigures = false;
  isShown = false;
  const turn = ++showing;
  begun = performance.now();
  const [, name, ...rest] = (location.hash || "#/memory").split("?")[0].split("/").map(decoded);
  const wanted = Object.hasOwn(VIEWS, name) ? name : "memory";
  for (const link of document.querySelectorAll("nav a")) {
    const isIt = link.hash === "#/" + wanted, was = link.hasAttribute("aria-current");
    if (isIt && !was) {
      link.setAttribute("aria-current", "page");
      // On a narrow screen the row of views is longer than it.
      const row = link.parentElement;
      row.scrollLeft = link.offsetLeft - row.offsetLeft - (row.clientWidth - link.offsetWidth) / 2;
    } else if (!isIt) link.removeAttribute("aria-current");
  }
  try {
    const parts = await VIEWS[wanted](...rest);
    if (turn !== showing) return;
    const address = [wanted, ...rest].join("/");
    if (view.dataset.address !== address) view.replaceChildren();
    view.dataset.address = address;
    update(view, parts.filter((part) => part !== null));
    performance.clearMeasures("shown");
    performance.measure("shown", { start: begun });
    tell();
    const words = aged();
    say(words, "old");
    live(words ? "old" : "good", words || `Figures of ${clock(Date.now(), true)}`);
  } catch (error) {
    if (turn !== showing) return;
    if (error.isRefusal) {
      // Others may see it: the server is well.
      view.dataset.address = [wanted, ...rest].join("/");
      update(view, [card("This is not for you", element("p", { class: "note" }, shown(error.message)))]);
      say("", "");
      live("good", `The server answers, ${clock(Date.now(), true)}`);
    } else {
      say(error.message, "");
      live("bad", "The server does not answer");
    }
  } finally {
    if (turn === showing) isShown = true;
  }
}

function turnTheme() {
  const isDark = document.documentElement.dataset.theme === "dark" ||
    (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
}

document.addEventListener("keydown", (event) => {
  if (event.target.matches?.("textarea, select")) return;
  if (event.target === filter) {
    if (event.key === "Escape") { filter.value = ""; filter.blur(); keepAddress(); show(true); }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const link = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
  if (link) link.click();
  else if (event.key === "/") { event.preventDefault(); filter.focus(); }
  else if (event.key === "t") turnTheme();
});
/** What is said of the place under the pointer, or of what has the focus. */
const tip = document.getElementById("tip");
let pointer = null;

function tell() {
  for (const mark of document.querySelectorAll(".cursor.on")) mark.className = "cursor";
  const under = pointer && document.elementFromPoint(pointer.x, pointer.y);
  const focused = document.activeElement?.matches?.("[data-tip]:focus-visible") ? document.activeElement : null;
  const it = under?.closest?.("[data-tip], .field") ?? focused;
  const area = it?.getBoundingClientRect();
  const place = it && told.get(it)?.(Math.min(1, Math.max(0, (pointer.x - area.left) / area.width)));
  const text = it?.dataset.tip ?? place?.text ?? "";
  tip.textContent = text;
  tip.hidden = !text;
  if (!text) return;
  if (place) point(it, place);
  const [x, y] = place ? [area.left + area.width * place.share, pointer.y] : it === focused ? [area.left + area.width / 2, area.top] : [pointer.x, pointer.y];
  const isRoom = x + 14 + tip.offsetWidth + 8 < innerWidth;
  tip.style.left = Math.max(4, isRoom ? x + 14 : x - 14 - tip.offsetWidth) + "px";
  tip.style.top = Math.max(4, y - tip.offsetHeight - 10 < 4 ? y + 18 : y - tip.offsetHeight - 10) + "px";
}

/** Marks the place of a plot that is told of: a line, and a dot on each of its own. */
function point(field, { share, dots }) {
  const mark = field.querySelector(".cursor");
  mark.className = "cursor on";
  mark.style.left = `${100 * share}%`;
  mark.replaceChildren(...dots.map((height) => {
    const dot = element("i");
    dot.style.bottom = `${100 * height}%`;
    return dot;
  }));
}

addEventListener("pointermove", (event) => { pointer = { x: event.clientX, y: event.clientY }; tell(); });
document.documentElement.addEventListener("pointerleave", () => { pointer = null; tell(); });
addEventListener("focusin", tell);
addEventListener("scroll", () => { pointer = null; tell(); }, { passive: true });

document.getElementById("theme").addEventListener("click", turnTheme);
filter.addEventListener("input", () => { keepAddress(); show(true); });
addEventListener("hashchange", () => { readAddress(); scrollTo(0, 0); show(); view.focus({ preventScroll: true }); });
addEventListener("resize", () => show(true));
const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;
readAddress();
show();
// What takes longer than that is waited for: begun anew over and over it would never be shown.
setInterval(() => {
  if (document.hidden) return;
  if (isShown) show();
  else if (performance.now() - begun > 2 * OLD_S * 1000) {
    say("The server does not answer.", "");
    live("bad", "The server does not answer");
  }
}, EVERY_MS);
