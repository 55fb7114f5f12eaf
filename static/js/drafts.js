// What is typed into an answer is kept while it is typed, for its author alone: without secrets, files and passwords.
const PAUSE = 900;
const timers = new Map();
const saved = new WeakMap();

function body(form) {
  const fields = new URLSearchParams();
  for (const one of form.elements) {
    const left = !one.name || one.disabled || one.tagName === "BUTTON" || ["password", "file"].includes(one.type);
    if (left || "kept" in one.dataset || one.id === "remark") continue;
    if (["radio", "checkbox"].includes(one.type) && !one.checked) continue;
    fields.append(one.name, one.value);
  }
  return fields;
}

function tell(place, words) {
  if (!place.isConnected) return;
  place.querySelector("[data-draft-text]").textContent = words;
}

async function save(form, keepalive = false) {
  clearTimeout(timers.get(form));
  timers.delete(form);
  const place = form.querySelector("[data-draft-address]");
  if (!place || form.dataset.sent) return;
  const fields = body(form);
  const text = fields.toString();
  if (saved.get(form) === text) return;
  saved.set(form, text);
  try {
    const answer = await fetch(place.dataset.draftAddress, { method: "POST", body: fields, credentials: "same-origin", keepalive });
    if (answer.status === 204) tell(place, place.dataset.saved);
    else if (answer.status !== 409) throw new Error(String(answer.status));
  } catch {
    saved.delete(form);
    tell(place, place.dataset.unsaved);
  }
}

function later(form) {
  if (!form?.matches?.("[data-decide]")) return;
  clearTimeout(timers.get(form));
  timers.set(form, setTimeout(() => save(form), PAUSE));
}

// What was just sent is no draft any more.
function forget(form) {
  clearTimeout(timers.get(form));
  timers.delete(form);
  form.dataset.sent = "1";
}

export function startDrafts() {
  document.addEventListener("input", (event) => event.target.id !== "remark" && later(event.target.form));
  document.addEventListener("sayso:form", (event) => later(event.detail));
  document.addEventListener("submit", (event) => event.target.matches("[data-decide]") && forget(event.target), true);
  document.body.addEventListener("htmx:sendError", () => {
    for (const form of document.querySelectorAll("[data-decide][data-sent]")) {
      delete form.dataset.sent;
      later(form);
    }
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("[data-decide][data-sent]")) delete form.dataset.sent;
  });
  // The page goes: what waits to be saved is saved now.
  window.addEventListener("pagehide", () => [...timers.keys()].forEach((form) => form.isConnected && save(form, true)));
}
