// What of a form is another than it was proposed, told while it is being typed.
import { gettext } from "./words.js";

const MOST = 300;
const plain = (text) => text.replaceAll("\r\n", "\n");
const named = (form, name) => [...form.elements].filter((one) => one.name === name);

// One field's text as its page began it and as it stands now; null of a secret or a file that nobody touched.
function now(form, leaf, name) {
  const { widget, start } = leaf.dataset;
  if (widget === "const") return JSON.parse(start);
  if (widget === "checks") {
    const ticked = [...leaf.querySelectorAll("input[type=checkbox]:checked")];
    return ticked.map((one) => one.name.slice(name.length + 3)).join(",");
  }
  const controls = named(form, name);
  if (widget === "secret") return controls[0]?.value ? gettext("•••• (set)") : null;
  if (widget === "file") return controls[0]?.files?.[0]?.name ?? (named(form, `${name}/~data`)[0] ? gettext("a file") : null);
  const radios = controls.filter((one) => one.type === "radio");
  if (radios.length) return radios.find((one) => one.checked)?.value ?? "";
  return controls[0]?.value ?? JSON.parse(start);
}

function differs(leaf, start, text) {
  const { widget } = leaf.dataset;
  if (widget === "secret" || widget === "file") return text !== null;
  if (widget !== "checks") return plain(start) !== plain(text);
  return start.split(",").sort().join() !== text.split(",").sort().join();
}

function rows(table, text) {
  const count = text.split(",").filter(Boolean).length;
  return count === 1 ? table.dataset.rowOne : table.dataset.rows.replace("%n", count);
}

function optionText(leaf, name, index) {
  const option = leaf.querySelector(`option[value="${CSS.escape(index)}"]`);
  if (option) return option.textContent;
  const input = [...leaf.querySelectorAll("input")].find(
    (one) => (one.name === name && one.value === index) || one.name === `${name}/~o${index}`,
  );
  return input?.closest("label")?.textContent.trim() ?? index;
}

// A widget's text as people read it.
function said(table, leaf, name, text) {
  const { widget } = leaf.dataset;
  if (widget === "rows" || widget === "map") return rows(table, text);
  if (widget === "secret" || widget === "file") return text ?? "—";
  if (["select", "radio", "yesno", "checks", "branches"].includes(widget)) {
    const chosen = text.split(",").filter((one) => one !== "");
    return chosen.map((one) => optionText(leaf, name, one)).join(", ") || "—";
  }
  return (text.length > MOST ? `${text.slice(0, MOST)}…` : text) || "—";
}

function cell(tag, text, className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

function row(table, change) {
  const made = document.createElement("tr");
  const head = cell("th", "");
  head.scope = "row";
  head.append(Object.assign(document.createElement("a"), { href: `#${change.id}`, textContent: change.label }));
  const button = cell("button", table.dataset.resetLabel, "btn btn-line");
  Object.assign(button, { name: "op", value: `reset:${change.name}`, formNoValidate: true });
  button.append(cell("span", ` ${change.label}`, "visually-hidden"));
  const last = document.createElement("td");
  last.append(button);
  made.append(head, cell("td", change.was, "from"), cell("td", change.yours, "to"), last);
  return made;
}

function changesOf(form, table) {
  const found = [];
  for (const leaf of form.querySelectorAll("[data-leaf]")) {
    const [name, start] = [JSON.parse(leaf.dataset.leaf), JSON.parse(leaf.dataset.start)];
    const text = now(form, leaf, name);
    leaf.classList.toggle("is-changed", differs(leaf, start, text));
    if (!leaf.classList.contains("is-changed")) continue;
    const was = leaf.dataset.widget === "secret" ? ("set" in leaf.dataset ? gettext("•••• (set)") : "—") : said(table, leaf, name, start);
    const id = leaf.id || leaf.querySelector("[id]")?.id || "";
    found.push({ name, id, label: leaf.dataset.label, was, yours: said(table, leaf, name, text) });
  }
  return found;
}

export function tellChanges(form) {
  const box = form?.querySelector?.("[data-changes]");
  if (!box) return;
  const table = box.querySelector("table");
  const found = changesOf(form, table);
  const title = box.querySelector("[data-count]");
  const { one, many, no } = title.dataset;
  title.textContent = found.length === 0 ? no : found.length === 1 ? one : many.replace("%n", found.length);
  box.toggleAttribute("data-none", !found.length);
  table.tBodies[0].replaceChildren(...found.map((change) => row(table, change)));
}

export function startChanges() {
  const fresh = () => document.querySelectorAll("[data-decide]").forEach(tellChanges);
  document.addEventListener("input", (event) => tellChanges(event.target.form));
  document.addEventListener("sayso:form", (event) => tellChanges(event.detail));
  document.addEventListener("sayso:part", fresh);
  document.body.addEventListener("htmx:afterSettle", fresh);
  // Back fills the fields in again after the page has come (U21).
  window.addEventListener("pageshow", () => setTimeout(fresh));
  fresh();
}
