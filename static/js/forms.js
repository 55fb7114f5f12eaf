// Rows, branches and resets without a reload: what a button of a form changes comes from the server, the rest stays.
import { enhance } from "./enhance.js";
import { fetchPage } from "./parts.js";
import { gettext } from "./words.js";

const PAUSE = 200;
const FIRST = "input:not([type=hidden]), select, textarea";
const timers = new WeakMap();
const running = new WeakMap();
const native = new WeakSet();

const fields = (form) => form?.querySelector("[data-fields]");
const escaped = (text) => CSS.escape(text);
// What is typed, as one text: whether it is still what was sent.
const written = (form) => [...new FormData(form)].map(([name, value]) => `${name}=${value.name ?? value}`).join("\n");

// Where the focus was, in words that the fresh form understands too.
function placeOf(element) {
  if (!element?.closest?.("[data-fields]")) return "";
  if (element.id) return `#${escaped(element.id)}`;
  if (!element.name) return "";
  const value = ["radio", "checkbox"].includes(element.type) ? `[value="${escaped(element.value)}"]` : "";
  return `[name="${escaped(element.name)}"]${value}`;
}

function group(root, name) {
  return root.querySelector(`input[type=hidden][name="${escaped(name)}"]`)?.closest("fieldset");
}

// After a button: the new row, the moved one, or what was put back.
function placeAfter(root, op) {
  const [, verb, name, row] = op.match(/^(\w+):(.*?)(?::([^:]*))?$/) ?? [];
  if (verb === "add") return [...group(root, op.slice(4)).querySelectorAll("[data-row]")].at(-1)?.querySelector(FIRST);
  if (verb === "remove") return group(root, name)?.querySelector(".row-add") ?? group(root, name);
  if (verb === "up" || verb === "down") {
    const buttons = ["up", "down"].map((one) => root.querySelector(`[name=op][value="${escaped(`${one}:${name}:${row}`)}"]`));
    if (verb === "down") buttons.reverse();
    return buttons.find((one) => one && !one.disabled);
  }
  if (verb === "reset") return root.querySelector(`[name="${escaped(op.slice(6))}"]:not([type=hidden])`);
  return root.querySelector("[data-count]");
}

function focus(root, op, before) {
  const place = op === "look" ? before && root.querySelector(before) : placeAfter(root, op);
  if (!place) return;
  if (!place.matches("a, button, input, select, textarea")) place.tabIndex = -1;
  place.focus({ preventScroll: op === "look" });
  if (op.startsWith("add:")) place.scrollIntoView({ block: "nearest" });
}

function show(form, page, op, before) {
  const fresh = fields(page);
  const old = fields(form);
  if (!fresh || !old) return;
  const node = document.importNode(fresh, true);
  const open = [...old.querySelectorAll("details")].map((one) => one.open);
  [...node.querySelectorAll("details")].forEach((one, at) => open[at] && (one.open = true));
  old.replaceWith(node);
  enhance(node);
  focus(node, op, before);
  document.dispatchEvent(new CustomEvent("sayso:form", { detail: form }));
}

// Where it cannot be done in place, the button does what it does without a script.
function fallBack(form, button) {
  if (button?.isConnected) {
    native.add(button);
    button.click();
    return;
  }
  document.getElementById("announce").textContent = gettext("It could not be sent. Nothing was recorded; try again.");
}

async function operate(form, op, button) {
  if (running.has(form)) {
    running.set(form, [op, button]);
    return;
  }
  running.set(form, null);
  const before = written(form);
  const place = placeOf(document.activeElement);
  const body = new FormData(form);
  body.set("op", op);
  const headers = form.closest("#pane") ? { "HX-Target": "pane" } : {};
  const address = form.getAttribute("action") || location.href;
  const page = await fetchPage(address, headers, body).catch(() => null);
  const next = running.get(form);
  running.delete(form);
  if (!form.isConnected) return;
  // What was typed meanwhile is not thrown away: it is asked again with that.
  const late = page && op === "look" && written(form) !== before;
  if (!page) fallBack(form, button);
  else if (!late) show(form, page, op, placeOf(document.activeElement) || place);
  if (next || late) operate(form, ...(next ?? ["look", null]));
}

function press(event) {
  const button = event.target.closest?.("button[name=op]");
  if (!button || !fields(button.form) || native.delete(button)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  clearTimeout(timers.get(button.form));
  operate(button.form, button.value, button);
}

// Which fields there are follows from what was chosen.
function follow(event) {
  const field = event.target;
  const form = field.form;
  if (!field.closest?.("[data-follows]") || !fields(form)) return;
  clearTimeout(timers.get(form));
  timers.set(form, setTimeout(() => operate(form, "look", null), PAUSE));
}

export function startForms() {
  document.documentElement.classList.add("has-script");
  document.addEventListener("click", press, true);
  document.addEventListener("change", follow);
}
