// Single letters: inactive in fields, switchable off, and none of them decides at its first press.
import { arm, disarm, inView } from "./guards.js";
import { gettext } from "./words.js";

const OFF = "sayso.keys";
// Addresses as they end; a letter leads only where this page has a link to.
const GO = { i: "/inbox", r: "/threads", t: "/threads", l: "/launch", d: "/decisions", a: "/audit" };
let prefix = 0;

const off = () => {
  try {
    return localStorage.getItem(OFF) === "off";
  } catch {
    return false;
  }
};
const remember = (choice) => {
  try {
    localStorage.setItem(OFF, choice);
  } catch {
    /* full or off: it lasts as long as the page */
  }
};
const inField = (target) => target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
const say = (text) => (document.getElementById("announce").textContent = text);
const review = () => document.querySelector("[data-review]");
const find = (selector) => review()?.querySelector(selector);
const rowOf = (element) => element?.closest?.(".qrow");
const row = () => rowOf(document.activeElement) ?? document.querySelector(".qrow.is-current");

// A row in focus that is not the question that is open: a letter for the one must not reach the other.
function elsewhere() {
  const at = rowOf(document.activeElement)?.dataset.id;
  if (!at || at === review()?.dataset.review) return false;
  say(gettext("Open the question first, with Enter."));
  return true;
}

function step(by) {
  const links = [...document.querySelectorAll("[data-rows] .row-link")];
  if (!links.length) return by > 0 && document.querySelector("[data-next]")?.click();
  const at = links.indexOf(document.activeElement);
  const from = at >= 0 ? at : links.findIndex((link) => link.getAttribute("aria-current") === "true");
  const next = links[Math.min(links.length - 1, Math.max(0, from + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

// The first press brings the card into view and arms the button, the second decides.
function press(...names) {
  const button = names.map((name) => find(`.bar [data-act="${name}"]`)).find(Boolean);
  if (!button || elsewhere()) return;
  if (button.disabled) return say(find(".bar-first")?.textContent ?? "");
  if (button.dataset.armed && document.activeElement === button) {
    if (!button.matches(".bar[data-twice] .btn-go")) disarm(button);
    button.click();
    return;
  }
  if (!inView(button)) document.getElementById("ask-title").scrollIntoView({ block: "start" });
  button.focus({ preventScroll: true });
  arm(button);
}

const CONTROL = "input:not([type=hidden]):not(:disabled), textarea, select";
const shown = (control) => control.checkVisibility?.() ?? true;

function write(place) {
  if (!place || elsewhere()) return;
  if (place.matches("details")) place.open = true;
  const first = place.matches(CONTROL) ? place : [...place.querySelectorAll(CONTROL)].find(shown);
  first?.focus();
}

// What is asked for by fields, and else the answer in words.
function answer() {
  const form = find("#decide");
  const field = [...(form?.querySelectorAll(".field, fieldset, .edit") ?? [])].find(
    (one) => !one.querySelector("#comment") && !one.closest(".free, .trust:not(.edit)"),
  );
  write(field?.closest("details.edit") ?? field ?? find("details.free") ?? find("#remark"));
}

function snooze() {
  const choice = find("[data-snooze]");
  if (!choice || elsewhere()) return;
  choice.closest("details").open = true;
  choice.focus();
}

function undo() {
  const button = document.querySelector("[data-undo]");
  if (button && !elsewhere()) button.click();
}

function claim() {
  const focused = rowOf(document.activeElement);
  const button = focused ? focused.querySelector(".row-claim button") : find("[data-claim]");
  button?.click();
}

function go(key) {
  const links = document.querySelectorAll(".nav-item[href]");
  const link = GO[key] && [...links].find((one) => new URL(one.href).pathname.endsWith(GO[key]));
  if (link) location.href = link.href;
}

const acts = {
  j: () => step(1),
  k: () => step(-1),
  o: () => row()?.querySelector(".row-link").click(),
  "/": () => document.querySelector("input[type=search]")?.focus(),
  "?": () => document.getElementById("keys")?.showModal(),
  a: () => press("approve", "answer"),
  r: () => press("reject"),
  e: () => write(find("details.edit") ?? find("#decide .state-head ~ .field") ?? find("#decide .field:not(:has(#comment))")),
  c: () => write(find("#comment") ?? document.querySelector("#remark")),
  q: answer,
  x: () => row()?.querySelector("[data-pick]")?.click(),
  s: snooze,
  m: claim,
  z: undo,
  g: () => (prefix = Date.now() + 1200),
};

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (inField(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (off() || document.querySelector("dialog[open]")) return;
  if (prefix > Date.now() && event.key !== "g") {
    prefix = 0;
    if (Object.hasOwn(GO, event.key)) {
      event.preventDefault();
      return go(event.key);
    }
  }
  // A key that is held down presses once; only moving goes on.
  if (!Object.hasOwn(acts, event.key) || (event.repeat && !["j", "k"].includes(event.key))) return;
  event.preventDefault();
  acts[event.key]();
}

// The choice is this person's: kept on the server, and here for the pages that do not ask it.
function startSwitch(box) {
  const kept = document.querySelector("[data-inbox]")?.dataset.keysKept;
  if (kept) remember(kept);
  box.checked = off();
  box.addEventListener("change", () => {
    const choice = box.checked ? "off" : "on";
    remember(choice);
    const token = document.querySelector('[name="csrfmiddlewaretoken"]')?.value ?? "";
    const body = new URLSearchParams({ csrfmiddlewaretoken: token, keys: choice });
    fetch(box.dataset.keysOff, { method: "POST", body, headers: { "X-Parts": "1" }, keepalive: true }).catch(() => {});
  });
}

export function startKeys() {
  const box = document.querySelector("[data-keys-off]");
  if (box) startSwitch(box);
  document.addEventListener(
    "click",
    (event) => event.target.closest("[data-keys]") && document.getElementById("keys").showModal(),
  );
  document.addEventListener("keydown", pressed);
}
