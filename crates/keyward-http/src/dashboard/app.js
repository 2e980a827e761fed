// The dashboard: which view is shown, what it asks of the server, and when.

import { endings } from "./expiry.js";
import { told, update } from "./patch.js";
import { planning } from "./plan.js";
import * as views from "./views.js";
import { element } from "./text.js";

const EVERY_MS = 2000, OLD_S = 4;
const view = document.getElementById("view"), state = document.getElementById("state");
const filter = document.getElementById("filter");
const SORTED = { by: "Memory", isUp: false };
let sort = SORTED, showing = 0, isShown = true;

const addressOf = (it) => `#/pattern/${encodeURIComponent(it.db)}/${encodeURIComponent(it.keyspace)}/${encodeURIComponent(it.pattern)}`;

function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

async function ask(path) {
  // The page's own address may have a password in it, which fetch does not take.
  const response = await fetch(location.origin + "/api/v1/" + path, { headers: { accept: "application/json" } });
  if (!response.ok) throw new Error((await response.text()).trim() || response.statusText);
  return response.json();
}

async function post(path, body) {
  const response = await fetch(location.origin + "/api/v1/" + path,
    { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error((await response.text()).trim() || response.statusText);
  return response.json();
}

/** The last figures, and whether they do: for another order or filter nothing is asked. */
let latest = null, isReused = false, isOfFigures = false;

async function overview() {
  isOfFigures = true;
  if (isReused && latest) return latest;
  const found = latest = await ask("overview");
  found.received = Date.now();
  for (const it of found.patterns) it.address = addressOf(it);
  remember(found);
  return found;
}

/** What this page has seen itself in the last minute, by the address of each pattern. */
const seen = [], SEEN_MAX = 31;

function remember(found) {
  const at = performance.now();
  if (seen.length > 0 && at - seen[seen.length - 1].at < EVERY_MS / 2) return;
  seen.push({ at, by: new Map(found.patterns.map((it) => [it.address, [it.keys, it.bytes, it.hits + it.misses, it.writes]])) });
  while (seen.length > SEEN_MAX) seen.shift();
}

/** The server's samples of a pattern; before it has some, those of this page. */
function past(it, history) {
  if (history.samples.length > 4) return { ...history, slots: 1 + 3600 / history.every, title: "The last hour" };
  const own = seen.filter((one) => one.by.has(it.address)).map((one) => ({ at: one.at, figures: one.by.get(it.address) }));
  const samples = own.slice(1).map(({ at, figures }, index) => {
    const seconds = (at - own[index].at) / 1000, before = own[index].figures;
    return { keys: figures[0], bytes: figures[1], reads: Math.max(0, figures[2] - before[2]) / seconds, writes: Math.max(0, figures[3] - before[3]) / seconds };
  });
  if (samples.length === 0) samples.push({ keys: it.keys, bytes: it.bytes, reads: it.reads_rate, writes: it.writes_rate });
  return { every: EVERY_MS / 1000, samples, slots: SEEN_MAX, title: "The last minute, as this page saw it" };
}

/** What each view needs. */
const VIEWS = {
  memory: async () => views.memory({
    overview: await overview(), filter: filter.value, sort, setSort, width: Math.max(280, view.clientWidth - 60),
  }),
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
  refusals: async () => views.refusals({ found: await ask("refusals") }),
  slow: async () => views.slow({ found: await ask("slow") }),
  clients: async () => views.clients({ found: await ask("clients") }),
  alerts: async () => views.alerts({ found: await ask("alerts") }),
  pattern: async (db, keyspace, pattern) => {
    const all = await overview();
    const it = all.patterns.find((it) => it.db === db && it.keyspace === keyspace && it.pattern === pattern);
    if (!it) return [element("p", { class: "note" }, "The schema has no such pattern.")];
    const [about, history, ties, ends, misfits, refusals] = await Promise.all([
      ask("about?id=" + it.id), ask("history?id=" + it.id), ask("ties"), allowed("expiring?id=" + it.id),
      it.misfits > 0 ? allowed("misfits?id=" + it.id) : null, it.refused + it.warned > 0 ? allowed("refusals") : null]);
    return views.pattern({ it, about, history: past(it, history), ties, overview: all, ends, misfits, refusals, keys: looked.get(it.address), look: () => look(it) });
  },
};

/** What was asked for and may be refused: the refusal is shown in its place. */
async function allowed(path) {
  try { return await ask(path); } catch (error) { return { refused: error.message }; }
}

/** Keys that somebody asked to see, by the address of their pattern. */
const looked = new Map();

async function look(it) {
  looked.clear();
  looked.set(it.address, await allowed("keys?id=" + it.id));
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

/** When figures were taken, if that is not now: a server that is busy with one command has none. */
function aged() {
  if (!latest || !isOfFigures || latest.age < OLD_S) return "";
  const at = new Date(latest.received - latest.age * 1000).toLocaleTimeString([], { hour12: false });
  return `The server is busy: figures of ${at}`;
}

async function show(mayReuse = false) {
  isReused = mayReuse === true;
  isOfFigures = false;
  isShown = false;
  const turn = ++showing, begun = performance.now();
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
    say(aged(), "old");
  } catch (error) {
    if (turn === showing) say("The server does not answer: " + error.message, "");
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
  const under = pointer && document.elementFromPoint(pointer.x, pointer.y);
  const focused = document.activeElement?.matches?.("[data-tip]:focus-visible") ? document.activeElement : null;
  const it = under?.closest?.("[data-tip], svg.chart") ?? focused;
  const area = it?.getBoundingClientRect();
  const text = !it ? "" : it.dataset.tip ?? told.get(it)?.(Math.min(1, Math.max(0, (pointer.x - area.left) / area.width))) ?? "";
  tip.textContent = text;
  tip.hidden = !text;
  if (!text) return;
  const [x, y] = it === focused ? [area.left + area.width / 2, area.top] : [pointer.x, pointer.y];
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = Math.max(4, y - tip.offsetHeight - 10 < 4 ? y + 18 : y - tip.offsetHeight - 10) + "px";
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
setInterval(() => { if (!document.hidden && isShown) show(); }, EVERY_MS);
