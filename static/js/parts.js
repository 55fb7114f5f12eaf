// Brings parts of a page up to date: fetch the page's own address, replace what the server changed, leave the rest alone.
import { enhance } from "./enhance.js";
import { gettext } from "./words.js";

const known = new WeakMap();

// Tokens and ages differ on every render and mean no change.
function essence(part) {
  const copy = part.cloneNode(true);
  for (const one of copy.querySelectorAll('input[name="csrfmiddlewaretoken"], input[name="key"]')) one.remove();
  // Who looks comes and goes without the part being another one.
  for (const one of copy.querySelectorAll("[data-looking]")) one.replaceChildren();
  for (const time of copy.querySelectorAll("time")) {
    time.textContent = "";
    time.removeAttribute("title");
    time.removeAttribute("data-zoned");
  }
  return copy.innerHTML;
}

export const remember = (root = document) => {
  for (const part of root.querySelectorAll("[data-part]")) known.set(part, essence(part));
};

function keepOpen(old, fresh) {
  const before = [...old.querySelectorAll("details")];
  [...fresh.querySelectorAll("details")].forEach((one, at) => {
    if (before[at]?.open) one.open = true;
  });
}

// What is being typed into a field that is still there goes on with it.
function keepValues(old, fresh) {
  for (const field of old.querySelectorAll("textarea[id]")) {
    const same = fresh.querySelector(`#${CSS.escape(field.id)}`);
    if (same && field.value !== field.defaultValue) same.value = field.value;
  }
}

function typedIn(card) {
  const texts = [];
  for (const field of card.querySelectorAll(
    "textarea, input:not([type=hidden]):not([type=radio]):not([type=checkbox])",
  )) {
    const label = field.labels?.[0]?.firstChild?.textContent?.trim();
    if (label && field.value.trim() && field.value !== field.defaultValue) texts.push([label, field.value]);
  }
  return texts;
}

// A card that somebody else closed keeps what was typed into it, as text to copy (U10).
function keepTyped(old, fresh) {
  const texts = typedIn(old);
  if (!texts.length || fresh.querySelector("[data-decide]")) return;
  const box = document.createElement("section");
  box.className = "notice tone-amber typed-copy";
  const list = document.createElement("dl");
  list.className = "typed";
  for (const [label, text] of texts) {
    const dt = document.createElement("dt");
    const dd = document.createElement("dd");
    dt.textContent = label;
    dd.textContent = text;
    list.append(dt, dd);
  }
  const inner = document.createElement("div");
  const head = document.createElement("h3");
  head.textContent = gettext("What you had typed. It was not used.");
  inner.append(head, list);
  box.append(inner);
  fresh.append(box);
}

function replace(old, fresh) {
  const text = essence(fresh);
  if (known.get(old) === text) return false;
  if (old.dataset.state && old.dataset.state === fresh.dataset.state) return false;
  const inside = old.contains(document.activeElement) ? document.activeElement.id : "";
  keepOpen(old, fresh);
  if (["acts", "composer"].includes(old.dataset.part)) keepValues(old, fresh);
  if (old.dataset.part === "card") keepTyped(old, fresh);
  const node = document.importNode(fresh, true);
  old.replaceWith(node);
  known.set(node, text);
  window.htmx?.process(node);
  enhance(node);
  if (inside) document.getElementById(inside)?.focus({ preventScroll: true });
  document.dispatchEvent(new CustomEvent("sayso:part", { detail: node }));
  return true;
}

export async function fetchPage(url, headers = {}, body = undefined) {
  const method = body ? "POST" : "GET";
  const response = await fetch(url, {
    method,
    body,
    headers: { "X-Parts": "1", ...headers },
    credentials: "same-origin",
  });
  if (response.redirected && new URL(response.url).pathname.startsWith("/accounts/login")) {
    location.reload();
    throw new Error("signed out");
  }
  if (!response.ok) throw new Error(`status ${response.status}`);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

// Replace the parts of `root` by those of the same name in `page`.
export function take(root, page) {
  const changed = [];
  for (const fresh of page.querySelectorAll("[data-part]")) {
    // The badge stands beside every page, in none of its parts.
    const where = fresh.dataset.part === "badge" ? document : root;
    const old = where.querySelector(`[data-part="${CSS.escape(fresh.dataset.part)}"]`);
    if (old && replace(old, fresh)) changed.push(fresh.dataset.part);
  }
  return changed;
}

const running = new Map();

// One fetch at a time for a place; a hint that comes meanwhile leads to one more, never to a crowd.
export async function refresh(place, url, headers) {
  if (running.has(place)) {
    running.set(place, true);
    return;
  }
  running.set(place, false);
  try {
    const page = await fetchPage(url, headers);
    if (place.isConnected) take(place, page);
  } catch {
    // The next hint or poll tries again; what is shown stays.
  } finally {
    const again = running.get(place);
    running.delete(place);
    if (again && place.isConnected) refresh(place, url, headers);
  }
}

// What an open conversation shows stays where it is, however much has come after it.
function address(place, shown = location.href) {
  const url = new URL(shown, location.href);
  const first = place.querySelector("[data-part][data-first]")?.dataset.first;
  if (first && !url.searchParams.has("before")) url.searchParams.set("since", first);
  return url.href;
}

export function refreshThread(uid) {
  const places = [];
  for (const place of document.querySelectorAll("[data-review]")) {
    if (uid && place.dataset.thread !== uid) continue;
    places.push(place);
    refresh(place, address(place, place.dataset.url), place.closest("#pane") ? { "HX-Target": "pane" } : {});
  }
  for (const place of document.querySelectorAll("[data-thread-page], [data-threads]")) {
    if (uid && place.dataset.thread && place.dataset.thread !== uid) continue;
    places.push(place);
    refresh(place, address(place));
  }
  return places.length > 0;
}

// A question of another thread changes nothing here but the badge; the inbox counts with its own list.
function refreshBadge() {
  const badge = document.querySelector("[data-open-count]");
  if (badge && !document.querySelector("[data-inbox]")) refresh(badge.parentElement, location.href);
}

export function startParts() {
  remember();
  document.addEventListener("sayso:hint", (event) => {
    if (["words", "presence"].includes(event.detail.topic)) return;
    const brought = refreshThread(event.detail.thread);
    if (!brought && event.detail.topic === "inbox") refreshBadge();
  });
  document.addEventListener("sayso:resync", () => refreshThread("") || refreshBadge());
}
