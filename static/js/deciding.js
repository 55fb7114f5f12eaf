// Pressing a button of the card: locked and "Saving…" at once, usable again when the page comes back or the send fails.
import { gettext } from "./words.js";

function lock(form, pressed) {
  for (const button of document.querySelectorAll(
    `button[data-act][form="${form.id || "-"}"], [data-decide] button[data-act]`,
  )) {
    button.disabled = true;
    if (button !== pressed) continue;
    button.dataset.label = button.lastChild.textContent;
    button.lastChild.textContent = button.dataset.busy ?? gettext("Saving…");
    button.classList.add("is-saving");
  }
}

function unlock() {
  for (const button of document.querySelectorAll("[data-act][disabled]")) {
    button.disabled = false;
    button.classList.remove("is-saving");
    if (button.dataset.label) button.lastChild.textContent = button.dataset.label;
    delete button.dataset.label;
  }
}

// The question first: a long conversation stands above it, one scroll away.
export function toQuestion(root) {
  const place =
    root.querySelector(".ask:not(.is-closed)") ?? root.querySelector("#receipt") ?? root.querySelector(".ask");
  // At once: a page that opens by gliding to its question moves under whoever has begun to read or press.
  place?.scrollIntoView({ block: place.id === "receipt" ? "center" : "start", behavior: "instant" });
}

function focusProblems() {
  const place = document.querySelector("[data-problems], [role=alert][aria-labelledby=conflict-title]");
  if (place) {
    place.tabIndex = -1;
    place.focus();
  } else if (document.body.classList.contains("is-review")) toQuestion(document);
}

// The bar stands outside the form: what was pressed goes into it as a field, for whoever sends it.
function name(event) {
  const button = event.target.closest?.("button[data-act]");
  const form = button?.form;
  if (!form) return;
  let field = form.querySelector('input[type="hidden"][name="act"]');
  if (!field) {
    field = Object.assign(document.createElement("input"), { type: "hidden", name: "act" });
    form.append(field);
  }
  field.value = button.value;
  form.noValidate = button.formNoValidate;
}

export function startDeciding() {
  document.addEventListener("click", name, true);
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("[data-decide]");
    // After the browser has read the form: a disabled button would not be sent.
    if (form) setTimeout(() => lock(form, event.submitter));
  });
  // Back brings a page as it was left, with its buttons locked (U21).
  window.addEventListener("pageshow", unlock);
  document.body.addEventListener("htmx:responseError", unlock);
  document.body.addEventListener("htmx:sendError", () => {
    unlock();
    document.getElementById("announce").textContent = gettext("It could not be sent. Nothing was recorded; try again.");
    for (const bar of document.querySelectorAll(".bar-what"))
      bar.textContent = gettext("It could not be sent. Nothing was recorded; try again.");
  });
  focusProblems();
}
