// A plan of another schema: pasted or dropped in, made by the server, applied by nobody here.

import { card, code, count, element, shown } from "./text.js";

/** The figures of a plan in the order in which they matter. */
const FIGURES = [
  ["destroyed", "bad"], ["evicted", "bad"], ["unkept", "bad"], ["shortened", "warn"], ["shortened_later", "warn"], ["cut_later", "warn"],
  ["dated", "warn"], ["redated", ""], ["misfits", "warn"], ["conflicts", "warn"], ["overlong", ""], ["moved", ""], ["built", ""], ["keys", ""],
];
let page = null;

/** The view, made once: what is typed in stays. */
export function planning({ overview, ask, post }) {
  page ??= build(ask, post);
  page.offer(overview.keyspaces);
  return [page.element];
}

function build(ask, post) {
  const keyspace = element("select", { id: "plan-keyspace" });
  const text = element("textarea", { id: "plan-text", class: "code", rows: 16, spellcheck: "false", placeholder: "Paste a schema (TOML), or drop its file here" });
  const result = element("div", { "aria-live": "polite" });
  let all = [];
  const chosen = () => {
    const it = all[keyspace.selectedIndex];
    // Where several share a database, it is said which one is meant.
    const isShared = all.filter((other) => other.db === it.db).length > 1;
    return { db: Number(it.db.slice(2)), keyspace: isShared ? it.name : "" };
  };
  const say = (message, style = "note") => result.replaceChildren(element("p", { class: style, role: "status" }, shown(message)));
  const buttons = [
    element("button", { type: "button", class: "look", id: "plan-show", onclick: async () => {
      const { db, keyspace: name } = chosen();
      try {
        text.value = (await ask(`text?db=${db}&keyspace=${encodeURIComponent(name)}`)).text;
        forget();
      } catch (error) { say(error.message, "note bad"); }
    } }, "Text in force"),
    element("button", { type: "button", class: "look main", id: "plan-make", onclick: async () => {
      if (!text.value.trim()) return say("There is nothing to plan.");
      say("The server looks through the rows; others are served meanwhile.");
      try { result.replaceChildren(...told(await post("plan", { ...chosen(), text: text.value }))); } catch (error) { say(error.message, "note bad"); }
    } }, "Plan"),
  ];
  // What was planned is not what stands there now.
  const forget = () => result.replaceChildren();
  text.addEventListener("input", forget);
  keyspace.addEventListener("change", forget);
  text.addEventListener("dragover", (event) => event.preventDefault());
  text.addEventListener("drop", async (event) => {
    const file = event.dataTransfer?.files?.[0];
    if (!file) return;
    event.preventDefault();
    text.value = await file.text();
    forget();
  });
  const form = card("What would another schema do?",
    element("p", { class: "soft" }, "Nothing is applied here. The plan is made as you, by KEYWARD SCHEMA PLAN."),
    element("p", {}, element("label", { for: "plan-keyspace", class: "soft" }, "keyspace "), keyspace),
    element("label", { for: "plan-text", class: "unseen" }, "Schema"), text, element("p", { class: "buttons" }, buttons));
  return {
    element: element("div", {}, form, result),
    offer(keyspaces) {
      const names = keyspaces.map((it) => `${it.name}, ${it.db}`).join("\n");
      if (names === all.map((it) => `${it.name}, ${it.db}`).join("\n")) return;
      all = keyspaces;
      keyspace.replaceChildren(...keyspaces.map((it) => element("option", {}, shown(`${it.name}, ${it.db}`))));
    },
  };
}

/** Copies a text; where there is no clipboard it is selected, to be copied by hand. */
async function copied(text, shownAs, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(shownAs);
    button.textContent = "Selected: copy it with the keyboard";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 3000);
}

/** What a plan says. */
function told(plan) {
  const used = FIGURES.filter(([name]) => plan.patterns.some((it) => it.figures[name] > 0));
  const rows = plan.patterns.map((it) => element("tr", {}, element("td", { class: "left", "data-title": "pattern" }, code(it.pattern || "(no pattern)")),
    used.map(([name, style]) => element("td", { class: it.figures[name] > 0 ? style : "soft", "data-title": name.replace("_", " ") }, count(it.figures[name] ?? 0)))));
  const command = element("code", {}, shown(plan.command));
  const copy = element("button", { type: "button", class: "look", id: "plan-copy", onclick: () => copied(plan.command, command, copy) }, "Copy");
  return [
    card(plan.destroys > 0 ? `It destroys ${count(plan.destroys)} rows and entries` : "It destroys nothing",
      rows.length > 0 ? element("table", { class: "stacked" }, element("thead", {}, element("tr", {}, element("th", { scope: "col", class: "left soft" }, "pattern"),
        used.map(([name]) => element("th", { scope: "col", class: "soft" }, name.replace("_", " "))))), element("tbody", {}, rows))
        : element("p", { class: "note" }, `No row of the ${plan.looked_at} patterns would change.`)),
    plan.changes.length > 0 ? card("How the schemas differ", element("ul", {}, plan.changes.map((line) => element("li", {}, shown(line))))) : null,
    card("To apply it", element("p", { class: "soft" }, `In database ${plan.db}, by somebody who may. The plan holds for an hour, or until another is made; until then every write is looked at for it too.`),
      element("pre", { id: "plan-command" }, command), copy),
  ].filter((part) => part !== null);
}
