// A remark is sent beside whatever is being written: only the conversation is brought up to date, the form stays as it is.
import { fetchPage, take } from "./parts.js";
import { gettext } from "./words.js";

function tell(composer, text) {
  let note = composer.querySelector(".problem");
  note ??= composer.appendChild(Object.assign(document.createElement("p"), { className: "note problem" }));
  note.textContent = text;
  note.hidden = !text;
  document.getElementById("announce").textContent = text || gettext("Your remark is in the conversation.");
}

async function send(button, composer) {
  const area = composer.querySelector("textarea");
  const text = area.value;
  if (!text.trim() || button.disabled) return;
  const place = composer.closest("[data-review], [data-thread-page]");
  const body = new FormData();
  body.set("csrfmiddlewaretoken", composer.querySelector('[name="csrfmiddlewaretoken"]').value);
  body.set("text", text);
  const say = composer.querySelector('[name="say"]:checked');
  if (say) body.set("say", say.value);
  button.disabled = true;
  try {
    const page = await fetchPage(composer.action, composer.closest("#pane") ? { "HX-Target": "pane" } : {}, body);
    // What was typed on while it was sent is another remark.
    if (area.value === text) area.value = "";
    tell(composer, "");
    if (place.isConnected) take(place, page);
  } catch {
    tell(composer, gettext("It could not be sent. Nothing was recorded; try again."));
  } finally {
    button.disabled = false;
  }
}

// The button says what it will do with what was written.
function label(radio) {
  const button = radio.closest("[data-composer]").querySelector("[data-remark]");
  const words = { "": gettext("Add remark"), ask: gettext("Ask"), tell: gettext("Send") };
  button.lastChild.textContent = words[radio.value];
}

export function startRemarks() {
  document.addEventListener("change", (event) => event.target.matches?.('[name="say"]') && label(event.target));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-remark]");
    const composer = button?.closest("[data-composer]");
    if (!composer) return;
    event.preventDefault();
    send(button, composer);
  });
}
