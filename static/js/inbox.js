// The list: it stays true without moving under the cursor, says how old it is when it cannot, and opens rows beside it.
import { fetchPage, remember, take } from "./parts.js";
import { enhance } from "./enhance.js";
import { toQuestion } from "./deciding.js";
import { span, showTimes } from "./times.js";

const SEEN = "sayso.seen";
const wide = window.matchMedia("(min-width: 1100px)");
let inbox,
  fetchedAt = Date.now(),
  waiting = [],
  latest = 0,
  busy = false,
  again = false,
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
    const isRead = read.has(row.dataset.id);
    row.classList.toggle("is-read", isRead);
    row.querySelector("[data-unread]").hidden = isRead;
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

function showPill() {
  const pill = inbox.querySelector("[data-pill]");
  pill.hidden = !waiting.length;
  pill.lastElementChild.textContent = `${waiting.length} new`;
}

function leave(row) {
  if (row.classList.contains("is-gone")) return;
  row.classList.add("is-gone");
  const meta = row.querySelector(".row-meta");
  const word = document.createElement("span");
  word.className = "gone-word";
  word.textContent = "No longer open";
  meta.prepend(word);
  const go = () => {
    if (row.contains(document.activeElement)) setTimeout(go, 3000);
    else {
      row.remove();
      if (!rows().length) refreshList(true);
    }
  };
  setTimeout(go, 3000);
}

function merge(page) {
  const fresh = [...page.querySelectorAll("[data-rows] > .qrow")].map((row) => document.importNode(row, true));
  if (!fresh.length || !rows().length) {
    if (!fresh.length && rows().some((row) => !row.classList.contains("is-gone"))) rows().forEach(leave);
    else
      list().replaceChildren(
        ...[...page.querySelector("[data-list]").childNodes].map((node) => document.importNode(node, true)),
      );
    waiting = [];
  } else {
    const here = new Map(rows().map((row) => [row.dataset.id, row]));
    const ids = fresh.map((row) => row.dataset.id);
    const more = page.querySelector("[data-more]");
    for (const [id, row] of here) {
      const past = more && rows().indexOf(row) >= ids.length;
      if (!ids.includes(id) && !past) leave(row);
    }
    waiting = fresh.filter((row) => !here.has(row.dataset.id));
    waiting.order = ids;
    for (const row of fresh) {
      const old = here.get(row.dataset.id);
      if (old && old.dataset.state !== row.dataset.state && !old.contains(document.activeElement)) old.replaceWith(row);
    }
    if (waiting.length) say(`${waiting.length} new question${waiting.length > 1 ? "s" : ""}`);
    if (waiting.length && free()) {
      insert(waiting);
      waiting = [];
    }
  }
  showPill();
  markCurrent();
  markRead();
  showTimes(inbox);
}

export async function refreshList(force = false) {
  if (!inbox || (document.hidden && !force)) return;
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  const turn = ++latest;
  try {
    const query = inbox.dataset.query;
    const page = await fetchPage(location.pathname + (query ? `?${query}` : ""));
    // The answer to the last question wins, whichever comes last (U22).
    if (turn !== latest) return;
    fetchedAt = Date.now();
    inbox.querySelector("[data-stale]").hidden = true;
    merge(page);
    // The counts came with the list, so that no number tells of another moment than the rows (U07).
    for (const part of page.querySelectorAll("[data-part]")) {
      if (!["rail", "strip", "badge"].includes(part.dataset.part)) part.remove();
    }
    take(document, page);
  } catch {
    showStale();
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
  const id = inbox.querySelector("#pane [data-review]")?.dataset.review;
  for (const row of rows()) {
    const current = row.dataset.id === id;
    row.classList.toggle("is-current", current);
    const link = row.querySelector(".row-link");
    if (current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function address(id) {
  const query = new URLSearchParams(inbox.dataset.query);
  if (id) query.set("item", id);
  return `${location.pathname}${query.size ? `?${query}` : ""}`;
}

let opening = 0;
async function open(href, push = true) {
  const turn = ++opening;
  const pane = inbox.querySelector("#pane");
  pane.classList.add("is-loading");
  try {
    const page = await fetchPage(href, { "HX-Request": "true", "HX-Target": "pane" });
    // A row pressed at once after another shows the last one, never the first (U13).
    if (turn !== opening) return;
    pane.replaceChildren(...[...page.body.childNodes].map((node) => document.importNode(node, true)));
    settle(pane);
    const id = pane.querySelector("[data-review]")?.dataset.review;
    if (push) history.pushState({ item: id }, "", address(id));
    pane.querySelector("#review-title")?.focus({ preventScroll: true });
    toQuestion(pane);
  } catch {
    location.href = href;
  } finally {
    if (turn === opening) pane.classList.remove("is-loading");
  }
}

function settle(pane) {
  remember(pane);
  window.htmx?.process(pane);
  enhance(pane);
  see(pane.querySelector("[data-review]")?.dataset.review);
  markCurrent();
  document.dispatchEvent(new Event("sayso:watch"));
}

export function startInbox() {
  see(document.querySelector("[data-review]")?.dataset.review);
  inbox = document.querySelector("[data-inbox]");
  if (!inbox) return;
  markRead();
  toQuestion(inbox.querySelector("#pane"));
  inbox.addEventListener("click", (event) => {
    const link = event.target.closest(".row-link, [data-pane-link]");
    if (link && wide.matches && !event.metaKey && !event.ctrlKey && !event.shiftKey && event.button === 0) {
      event.preventDefault();
      open(link.href);
    } else if (event.target.closest("[data-pill]")) {
      list().scrollTop = 0;
      window.scrollTo(0, 0);
      insert(waiting);
      waiting = [];
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
  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "pane") return;
    settle(event.detail.target);
    const news = event.detail.target.querySelector("[role=alert], #receipt");
    if (news) {
      news.tabIndex = -1;
      news.focus({ preventScroll: true });
      news.scrollIntoView({ block: "center" });
    } else toQuestion(event.detail.target);
    refreshList();
  });
  document.addEventListener("sayso:hint", (event) => event.detail.topic === "inbox" && refreshList());
  document.addEventListener("sayso:resync", () => refreshList());
  document.addEventListener("visibilitychange", () => refreshList());
  setInterval(() => !inbox.querySelector("[data-stale]").hidden && showStale(), 5000);
}

async function more(link) {
  const place = link.closest(".more");
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
  }
}
