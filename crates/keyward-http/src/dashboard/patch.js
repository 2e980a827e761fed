// Updates in place: what is there stays and gets its new texts and attributes, so that the focus,
// a selection and how far something is scrolled survive.

/** What a drawing says of a place, by its element. */
export const told = new WeakMap();

/** What is done when something happens to an element, by its element. */
const handlers = new WeakMap();

/** Has a function called for an event; another one takes its place when the element is updated. */
export function listen(made, event, handler) {
  if (!handlers.has(made)) handlers.set(made, {});
  const own = handlers.get(made);
  if (!own[event]) made.addEventListener(event, (happened) => handlers.get(made)[event]?.(happened));
  own[event] = handler;
}

/** Gives an element many children of which most stay as they are: each has a key, a text that
 *  changes when it has to be made anew, and a function that makes it. */
export function keep(made, items) {
  made.wanted = items;
  pending++;
  return made;
}

/** How many elements have children that were only told of: where there is none, none is looked for. */
let pending = 0;

function taken(node) {
  const items = node.wanted;
  node.wanted = null;
  pending--;
  return items;
}

/** Makes the children that were only told of. */
function settled(node) {
  if (node.wanted) node.replaceChildren(...taken(node).map((item) => marked(item.make(), item)));
  else if (pending > 0) for (let child = node.firstChild; child; child = child.nextSibling) settled(child);
  return node;
}

function marked(made, { key, sign }) {
  made.key = key;
  made.sign = sign;
  return settled(made);
}

/** Where somebody is: what has the focus, and where a selection begins. Asked once an update, since
 *  asking between changes has the browser lay the page out each time. */
let present = [];

/** Shows these nodes in a place, in the nodes that are there. */
export function update(place, nodes) {
  present = [document.activeElement, getSelection()?.anchorNode].filter((node) => node && place.contains(node));
  show(place, nodes);
  // Of what was made and never shown.
  pending = 0;
}

function show(place, nodes) {
  const known = new Map(), plain = [];
  for (const child of place.childNodes) {
    if (child.key === undefined) plain.push(child);
    else if (known.has(child.key)) known.get(child.key).push(child);
    else known.set(child.key, [child]);
  }
  arrange(place, nodes.map((node) => {
    if (node.parentNode === place) return node;
    const at = plain.findIndex((old) => old.nodeName === node.nodeName);
    const old = node.key === undefined ? (at < 0 ? null : plain.splice(0, at + 1).pop()) : known.get(node.key)?.shift();
    return old && old.nodeName === node.nodeName ? patched(old, node) : settled(node);
  }));
}

/** The same of children that are made only if they have changed. */
function showKept(place, items) {
  const known = new Map([...place.childNodes].map((child) => [child.key, child]));
  arrange(place, items.map((item) => {
    const old = known.get(item.key);
    if (!old) return marked(item.make(), item);
    known.delete(item.key);
    if (old.sign === item.sign) return old;
    old.sign = item.sign;
    return patched(old, item.make());
  }));
}

/** A node with what another one says. */
function patched(old, wanted) {
  if (old === wanted) return old;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== wanted.nodeValue) old.nodeValue = wanted.nodeValue;
    return old;
  }
  for (const { name } of [...old.attributes]) if (name !== "style" && !wanted.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of wanted.attributes) if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  if ((old.hasAttribute("style") || wanted.hasAttribute("style")) && old.style.cssText !== wanted.style.cssText) old.style.cssText = wanted.style.cssText;
  for (const [event, handler] of Object.entries(handlers.get(wanted) ?? {})) listen(old, event, handler);
  if (told.has(wanted)) told.set(old, told.get(wanted));
  if (wanted.key !== undefined) old.key = wanted.key;
  if (wanted.wanted) showKept(old, taken(wanted));
  else show(old, [...wanted.childNodes]);
  return old;
}

/** Puts nodes into this order. The one that somebody is at is not moved: it would lose the focus. */
function arrange(place, nodes) {
  if (place.childNodes.length === nodes.length && nodes.every((node, at) => node.parentNode === place && (at === 0 || nodes[at - 1].nextSibling === node))) return;
  const stays = new Set(nodes);
  for (const child of [...place.childNodes]) if (!stays.has(child)) child.remove();
  const fixed = present.map((one) => nodes.findIndex((node) => node.parentNode === place && node.contains(one))).find((at) => at >= 0) ?? nodes.length;
  ordered(place, nodes.slice(0, fixed), nodes[fixed] ?? null);
  ordered(place, nodes.slice(fixed + 1), null);
}

/** Puts nodes before another one, in their order; those that follow one another at once. */
function ordered(place, nodes, before) {
  let next = before;
  for (let at = nodes.length - 1; at >= 0; at--) {
    const last = at;
    if (nodes[at].parentNode === place && nodes[at].nextSibling === next) { next = nodes[at]; continue; }
    while (at > 0 && nodes[at - 1].parentNode !== place) at--;
    const run = document.createDocumentFragment();
    run.append(...nodes.slice(at, last + 1));
    place.insertBefore(run, next);
    next = nodes[at];
  }
}
