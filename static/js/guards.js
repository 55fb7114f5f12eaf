// What a queue's policy sets before a yes: a second press at the same spot, or that every long value was opened.
import { gettext, ngettext, fill } from "./words.js";

const ARMED = 6000;

export function disarm(button) {
  if (!button.dataset.armed) return;
  clearTimeout(Number(button.dataset.armed));
  button.lastChild.textContent = button.dataset.first;
  button.classList.remove("is-armed");
  delete button.dataset.armed;
}

export function arm(button) {
  button.dataset.first = button.lastChild.textContent;
  button.lastChild.textContent = fill(gettext("%(act)s?"), { act: button.dataset.first });
  button.classList.add("is-armed");
  button.dataset.armed = String(setTimeout(() => disarm(button), ARMED));
  document.getElementById("announce").textContent = gettext("Press once more to confirm.");
}

// In view, or else the first press only brings the card there: nobody says yes to what they do not see.
export function inView(button) {
  const card = button.closest("[data-review]")?.querySelector("#ask-title");
  if (!card) return true;
  const box = card.getBoundingClientRect();
  return box.bottom > 0 && box.top < window.innerHeight;
}

function confirmTwice(event) {
  const button = event.target.closest?.(".bar[data-twice] .btn-go[data-act]");
  if (!button) return;
  if (button.dataset.armed) return disarm(button);
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!inView(button)) document.getElementById("ask-title").scrollIntoView({ block: "start" });
  arm(button);
}

const unread = (review) => review.querySelectorAll(".ask [data-tab=Summary] .long-toggle:not(:checked)");

function tellRead(review) {
  const form = review.querySelector("[data-decide]");
  if (!form || review.dataset.readAll) return;
  review.dataset.readAll = "1";
  note(review, "1");
}

// Every long value is opened before a yes to something of high risk; the server keeps that it was.
export function readFirst(root = document) {
  for (const bar of root.querySelectorAll(".bar[data-read-first]")) {
    const review = bar.closest("[data-review]");
    const left = unread(review).length;
    for (const button of bar.querySelectorAll(".btn-go[data-act]:not(.is-saving)")) button.disabled = left > 0;
    let word = bar.querySelector(".bar-first");
    word ??= bar.insertBefore(Object.assign(document.createElement("p"), { className: "bar-first" }), bar.firstChild);
    word.hidden = !left;
    const text = ngettext("Open the long value first.", "Open the %(left)s long values first.", left);
    word.textContent = fill(text, { left });
    if (!left) tellRead(review);
  }
}

// That the question was opened: it is no longer unread, and its first look has its moment.
function note(review, all = "") {
  const token = document.querySelector('[name="csrfmiddlewaretoken"]')?.value;
  if (!token || !review.dataset.look) return;
  const body = new URLSearchParams({ csrfmiddlewaretoken: token, ...(all && { all }) });
  fetch(review.dataset.look, { method: "POST", body, credentials: "same-origin", keepalive: true }).catch(() => {});
}

function seen(root = document) {
  for (const review of root.querySelectorAll("[data-review]:not([data-noted])")) {
    review.dataset.noted = "1";
    note(review, unread(review).length ? "" : "1");
  }
}

function fresh(root) {
  seen(root);
  readFirst(root);
}

export function startGuards() {
  document.addEventListener("click", confirmTwice, true);
  document.addEventListener("change", (event) => event.target.matches?.(".long-toggle") && readFirst());
  document.addEventListener("focusout", (event) => event.target.dataset?.armed && disarm(event.target));
  document.addEventListener("sayso:part", () => fresh(document));
  document.body.addEventListener("htmx:afterSettle", () => fresh(document));
  window.addEventListener("pageshow", () => setTimeout(() => fresh(document)));
  fresh(document);
}
