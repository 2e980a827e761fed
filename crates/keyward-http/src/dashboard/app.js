// The dashboard: which view is shown, what it asks of the server, and when.

import * as views from "./views.js";
import { element } from "./text.js";

const EVERY_MS = 2000;
const view = document.getElementById("view"), state = document.getElementById("state");
const filter = document.getElementById("filter");
const SORTED = { by: "Memory", isUp: false };
let sort = SORTED, showing = 0;

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

async function overview() {
  const found = await ask("overview");
  for (const it of found.patterns) it.address = addressOf(it);
  return found;
}

/** What each view needs. */
const VIEWS = {
  memory: async () => views.memory({
    overview: await overview(), filter: filter.value, sort, setSort, width: Math.max(280, view.clientWidth - 60),
  }),
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
    const [about, history, ties] =
      await Promise.all([ask("about?id=" + it.id), ask("history?id=" + it.id), ask("ties")]);
    return views.pattern({ it, about, history, ties, overview: all, keys: looked.get(it.address), look: () => look(it) });
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
  show();
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

async function show() {
  const turn = ++showing;
  const [, name, ...rest] = (location.hash || "#/memory").split("?")[0].split("/").map(decoded);
  const wanted = Object.hasOwn(VIEWS, name) ? name : "memory";
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === "#/" + wanted) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  try {
    const parts = await VIEWS[wanted](...rest);
    if (turn !== showing) return;
    const focused = document.activeElement?.closest?.("th button")?.textContent;
    view.replaceChildren(...parts.filter((part) => part !== null));
    if (focused) [...view.querySelectorAll("th button")].find((it) => it.textContent === focused)?.focus();
    state.textContent = "";
  } catch (error) {
    if (turn === showing) state.textContent = "The server does not answer: " + error.message;
  }
}

function turnTheme() {
  const isDark = document.documentElement.dataset.theme === "dark" ||
    (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
}

document.addEventListener("keydown", (event) => {
  if (event.target === filter) {
    if (event.key === "Escape") { filter.value = ""; filter.blur(); keepAddress(); show(); }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const link = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
  if (link) link.click();
  else if (event.key === "/") { event.preventDefault(); filter.focus(); }
  else if (event.key === "t") turnTheme();
});
document.getElementById("theme").addEventListener("click", turnTheme);
filter.addEventListener("input", () => { keepAddress(); show(); });
addEventListener("hashchange", () => { readAddress(); scrollTo(0, 0); show(); view.focus({ preventScroll: true }); });
addEventListener("resize", show);
const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;
readAddress();
show();
setInterval(() => { if (!document.hidden) show(); }, EVERY_MS);
