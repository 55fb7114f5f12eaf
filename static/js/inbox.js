// The list: it stays true without moving under the cursor, says how old it is when it cannot, and opens rows beside it.
import { closedOf, leave } from "./rows.js";
import { current, open, readdress, startPane } from "./pane.js";
import { fetchPage, take } from "./parts.js";
import { startSearching } from "./searching.js";
import { patiently } from "./skeletons.js";
import { span, showTimes } from "./times.js";
import { fill, gettext, ngettext } from "./words.js";

const SEEN = "sayso.seen";
// The counts came with the list, so that no number tells of another moment than the rows (U07).
const COUNTS = ["rail", "strip", "badge"];
const AROUND = [...COUNTS, "title", "saved-menu", "sort", "chips", "notices"];
const wide = window.matchMedia("(min-width: 1100px)");
let inbox,
  fetchedAt = Date.now(),
  waiting = [],
  latest = 0,
  busy = false,
  again = false,
  sought = null,
  ready = () => {},
  lastSaid = 0;

const rows = () => [...inbox.querySelectorAll("[data-rows] > .qrow")];
const list = () => inbox.querySelector("[data-list]");
const seen = () => {
  try {
    return JSON.parse(localStorage.getItem(SEEN)) ?? [];
  } catch {
    return [];
  }
};

function markRead() {
  const read = new Set(seen());
  for (const row of rows()) {
    const dot = row.querySelector("[data-unread]");
    dot.hidden = read.has(row.dataset.id) || "seen" in dot.dataset;
    row.classList.toggle("is-read", dot.hidden);
  }
}

function see(id) {
  if (!id) return;
  try {
    localStorage.setItem(SEEN, JSON.stringify([...seen().filter((one) => one !== id), id].slice(-500)));
  } catch {
    /* full or off */
  }
  if (inbox) markRead();
}

// Arrivals are told politely, at most once in five seconds.
function say(text) {
  if (Date.now() - lastSaid < 5000) return;
  lastSaid = Date.now();
  document.getElementById("announce").textContent = text;
}

// Rows may move only where nobody is about to press one.
const free = () => {
  const body = list();
  const scrolled = wide.matches ? body.scrollTop > 8 : window.scrollY > 8;
  return !scrolled && !body.matches(":hover") && !body.contains(document.activeElement);
};

function insert(fresh) {
  const target = inbox.querySelector("[data-rows]");
  if (!target) return false;
  const order = waiting.order;
  for (const row of fresh) {
    row.classList.add("is-new");
    const next = order.slice(order.indexOf(row.dataset.id) + 1).find((id) => target.querySelector(`[data-id="${id}"]`));
    target.insertBefore(row, next ? target.querySelector(`[data-id="${next}"]`) : null);
  }
  showTimes(target);
  markRead();
  return true;
}

function append(below) {
  inbox.querySelector("[data-rows]").append(...below);
  if (below.length) say(gettext("More questions are at the end of the list"));
}

function showPill() {
  const pill = inbox.querySelector("[data-pill]");
  pill.hidden = !waiting.length;
  pill.lastElementChild.textContent = fill(gettext("%(count)s new"), { count: waiting.length });
}

const gone = (leaving) => leave(leaving, () => !rows().length && refreshList(true));
const copies = (nodes) => [...nodes].map((node) => document.importNode(node, true));

function put(page) {
  list().replaceChildren(...copies(page.querySelector("[data-list]").childNodes));
  waiting = [];
}

function merge(page) {
  const fresh = copies(page.querySelectorAll("[data-rows] > .qrow"));
  if (fresh.length && rows().length) mergeRows(fresh, page.querySelector("[data-more]"));
  else if (!fresh.length && rows().some((row) => !row.classList.contains("is-gone"))) {
    gone(rows());
    waiting = [];
  } else put(page);
  settle();
}

function mergeRows(fresh, more) {
  const here = new Map(rows().map((row) => [row.dataset.id, row]));
  const ids = fresh.map((row) => row.dataset.id);
  // What stands below the last row that both have is beyond the page, or has just come into it: nothing moves for it.
  const lastHere = rows().findLastIndex((row) => ids.includes(row.dataset.id));
  const lastFresh = fresh.findLastIndex((row) => here.has(row.dataset.id));
  const beyond = (at) => more && lastHere >= 0 && at > lastHere;
  gone(rows().filter((row, at) => !ids.includes(row.dataset.id) && !beyond(at)));
  closedOf(rows().filter((row, at) => beyond(at))).then(gone);
  if (lastFresh >= 0 && !beyond(rows().length - 1)) append(fresh.slice(lastFresh + 1));
  waiting = fresh.filter((row) => !here.has(row.dataset.id) && !row.isConnected);
  waiting.order = ids;
  for (const row of fresh) {
    const old = here.get(row.dataset.id);
    const changed = old && (old.dataset.state !== row.dataset.state || old.classList.contains("is-gone"));
    if (changed && !old.contains(document.activeElement)) old.replaceWith(row);
  }
  if (!waiting.length) return;
  say(fill(ngettext("%(count)s new question", "%(count)s new questions", waiting.length), { count: waiting.length }));
  if (free() && insert(waiting)) waiting = [];
}

function keepParts(page, names) {
  for (const part of page.querySelectorAll("[data-part]")) if (!names.includes(part.dataset.part)) part.remove();
  return page;
}

const shown = (query) => location.pathname + (query ? `?${query}` : "");

function fresh() {
  fetchedAt = Date.now();
  inbox.querySelector("[data-stale]").hidden = true;
}

// What was typed last is what is shown, whichever answer comes last (U22). One that fails is asked for again with the
// next refresh, and until then the rows stay (U06).
async function search(query) {
  const turn = ++latest;
  sought = query;
  const before = ready;
  const found = (ready = patiently(list(), 6));
  before();
  try {
    const page = await fetchPage(shown(query));
    if (turn !== latest) return;
    sought = null;
    fresh();
    inbox.dataset.query = page.querySelector("[data-inbox]").dataset.query;
    for (const field of inbox.querySelectorAll(".bulk-bar [name=from]")) field.value = inbox.dataset.query;
    put(page);
    take(document, keepParts(page, AROUND));
    readdress();
    settle();
    say(fill(ngettext("%(count)s question", "%(count)s questions", rows().length), { count: rows().length }));
  } catch {
    if (turn === latest) showStale();
  } finally {
    found();
  }
}

function settle() {
  showPill();
  markCurrent();
  markRead();
  showTimes(inbox);
}

export async function refreshList(force = false) {
  if (!inbox || (document.hidden && !force)) return;
  if (sought !== null) {
    if (!("busy" in list().dataset)) search(sought);
    return;
  }
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  const turn = ++latest;
  try {
    const page = await fetchPage(shown(inbox.dataset.query));
    if (turn !== latest) return;
    fresh();
    merge(page);
    take(document, keepParts(page, COUNTS));
  } catch {
    if (turn === latest) showStale();
  } finally {
    busy = false;
    if (again) {
      again = false;
      refreshList();
    }
  }
}

function showStale() {
  const banner = inbox.querySelector("[data-stale]");
  banner.hidden = false;
  banner.querySelector("[data-stale-age]").textContent = span(Math.max(5, (Date.now() - fetchedAt) / 1000));
}

function markCurrent() {
  const id = current();
  for (const row of rows()) {
    const current = row.dataset.id === id;
    row.classList.toggle("is-current", current);
    const link = row.querySelector(".row-link");
    if (current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

// Dense or not is kept for this person, and seen at once.
async function switchDensity(form) {
  const field = form.querySelector("[name=density]");
  const body = new FormData(form);
  const turn = () => {
    const compact = inbox.classList.toggle("is-compact");
    form.querySelector("button").setAttribute("aria-pressed", String(compact));
    field.value = compact ? "comfortable" : "compact";
  };
  turn();
  const headers = { "X-Parts": "1" };
  const answer = await fetch(form.action, { method: "POST", body, headers, keepalive: true }).catch(() => null);
  if (!answer?.ok) turn();
}

export function startInbox() {
  see(document.querySelector("[data-review]")?.dataset.review);
  inbox = document.querySelector("[data-inbox]");
  if (!inbox) return;
  markRead();
  startPane(inbox, (id, decided) => {
    see(id);
    markCurrent();
    if (decided) refreshList();
  });
  startSearching(inbox, search);
  inbox.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-density]")) return;
    event.preventDefault();
    switchDensity(event.target);
  });
  inbox.addEventListener("click", (event) => {
    const link = event.target.closest(".row-link, [data-pane-link]");
    if (link && wide.matches && !event.metaKey && !event.ctrlKey && !event.shiftKey && event.button === 0) {
      event.preventDefault();
      open(link.href);
    } else if (event.target.closest("[data-pill]")) {
      list().scrollTop = 0;
      window.scrollTo(0, 0);
      if (insert(waiting)) waiting = [];
      showPill();
    } else if (event.target.closest("[data-more]")) {
      event.preventDefault();
      more(event.target.closest("[data-more]"));
    }
  });
  window.addEventListener("popstate", () => {
    const id = new URLSearchParams(location.search).get("item");
    if (id && wide.matches) open(`/review/${id}?from=${encodeURIComponent(inbox.dataset.query)}`, false);
    else location.reload();
  });
  document.addEventListener("sayso:hint", (event) => event.detail.topic === "inbox" && refreshList());
  document.addEventListener("sayso:resync", () => refreshList());
  document.addEventListener("visibilitychange", () => refreshList());
  setInterval(() => !inbox.querySelector("[data-stale]").hidden && showStale(), 5000);
}

async function more(link) {
  const place = link.closest(".more");
  const found = patiently(list(), 3, true);
  try {
    const page = await fetchPage(link.href);
    const here = new Set(rows().map((row) => row.dataset.id));
    for (const row of page.querySelectorAll("[data-rows] > .qrow")) {
      if (!here.has(row.dataset.id)) inbox.querySelector("[data-rows]").append(document.importNode(row, true));
    }
    const next = page.querySelector("[data-more]");
    if (next) link.href = next.getAttribute("href");
    else place.remove();
    markRead();
    showTimes(inbox);
  } catch {
    location.href = link.href;
  } finally {
    found();
  }
}
