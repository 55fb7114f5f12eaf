// The question beside the list: the row pressed last is the one that is shown, whatever else is still on its way.
import { enhance } from "./enhance.js";
import { toQuestion } from "./deciding.js";
import { fetchPage, remember } from "./parts.js";
import { patiently } from "./skeletons.js";
import { fill, gettext } from "./words.js";

let inbox,
  opening = 0,
  ready = () => {},
  changed = () => {};

const pane = () => inbox.querySelector("#pane");
export const current = () => pane()?.querySelector("[data-review]")?.dataset.review;

function address(id) {
  const query = new URLSearchParams(inbox.dataset.query);
  if (id) query.set("item", id);
  return `${location.pathname}${query.size ? `?${query}` : ""}`;
}

// The list shows another query now; the address keeps the question that is open.
export const readdress = () => history.replaceState(history.state, "", address(current()));

function settle(decided = false) {
  remember(pane());
  window.htmx?.process(pane());
  enhance(pane());
  changed(current(), decided);
  document.dispatchEvent(new Event("sayso:watch"));
}

export async function open(href, push = true) {
  const turn = ++opening;
  // Until the next one is there nothing of the last one can be pressed (U13).
  pane().inert = true;
  const before = ready;
  const shown = (ready = patiently(pane(), 3));
  // Whoever waits for the row pressed before waits no more.
  before();
  try {
    const page = await fetchPage(href, { "HX-Request": "true", "HX-Target": "pane" });
    if (turn !== opening) return;
    pane().replaceChildren(...[...page.body.childNodes].map((node) => document.importNode(node, true)));
    pane().inert = false;
    // What is hidden cannot be given the focus.
    shown();
    settle();
    const id = current();
    if (push) history.pushState({ item: id }, "", address(id));
    pane().querySelector("#review-title")?.focus({ preventScroll: true });
    toQuestion(pane());
  } catch {
    if (turn === opening) location.href = href;
  } finally {
    shown();
    if (turn === opening) pane().inert = false;
  }
}

// A decision answered after another row was pressed does not take that one's place; what was refused is said.
function late(event) {
  if (event.detail.target?.id !== "pane" || event.detail.xhr.sayso === opening) return;
  event.detail.shouldSwap = false;
  changed(current(), true);
  if (event.detail.xhr.status < 400) return;
  const banner = inbox.querySelector("[data-refused]");
  const link = banner.querySelector("a");
  const title = event.detail.requestConfig.elt.closest("[data-review]")?.querySelector("#review-title")?.textContent;
  link.href = event.detail.pathInfo.requestPath;
  link.textContent = fill(gettext("“%(title)s” was not decided. Look at it again."), { title: title ?? "…" });
  banner.hidden = false;
}

function news() {
  const found = pane().querySelector("[role=alert], #receipt");
  if (!found) return toQuestion(pane());
  found.tabIndex = -1;
  found.focus({ preventScroll: true });
  found.scrollIntoView({ block: "center" });
}

export function startPane(where, onChange) {
  inbox = where;
  changed = onChange;
  if (current()) toQuestion(pane());
  document.body.addEventListener("htmx:beforeSend", (event) => {
    if (event.detail.target?.id === "pane") event.detail.xhr.sayso = opening;
  });
  document.body.addEventListener("htmx:beforeSwap", late);
  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "pane") return;
    settle(true);
    news();
  });
}
