// While a decision is held it can be undone: the seconds are counted down, and at their end the page is brought up to date.
import { refreshThread } from "./parts.js";
import { gettext, fill } from "./words.js";

const began = new WeakMap();

function count(form) {
  if (!began.has(form)) began.set(form, performance.now());
  const left = Number(form.dataset.hold) - (performance.now() - began.get(form)) / 1000;
  if (left > 0) {
    const text = fill(gettext("Sends in %(seconds)s s"), { seconds: Math.ceil(left) });
    const place = form.querySelector("[data-hold-text]");
    if (place.textContent !== text) place.textContent = text;
    return;
  }
  const thread = form.closest("[data-thread]")?.dataset.thread;
  form.remove();
  if (thread) refreshThread(thread);
}

export function startHolds() {
  setInterval(() => document.querySelectorAll("form[data-hold]").forEach(count), 250);
}
