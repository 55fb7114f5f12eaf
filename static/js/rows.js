// One row's way out of the list: it fades with its outcome, and leaves a little later unless somebody is at it.
import { newsOf } from "./looking.js";
import { gettext } from "./words.js";

const STAY = 3000;

const held = (row) => row.contains(document.activeElement) || row.matches(":hover");

function fade(row) {
  row.classList.add("is-gone");
  row.querySelector("[data-pick]")?.closest(".pick").remove();
  row.querySelector(".row-claim")?.remove();
  const word = document.createElement("span");
  word.className = "gone-word";
  word.dataset.gone = row.dataset.id;
  word.textContent = gettext("No longer open");
  row.querySelector(".row-meta").prepend(word);
}

// What became of them, in one question to the server; without an answer the plain word stays.
async function tellFates(rows) {
  try {
    const pieces = await newsOf(rows.map((row) => row.dataset.id));
    for (const row of rows) {
      const fate = pieces.get(row.dataset.id)?.querySelector("[data-fate]");
      const word = row.querySelector(".gone-word");
      if (fate && word) word.replaceChildren(...[...fate.childNodes].map((node) => document.importNode(node, true)));
    }
  } catch {
    // The list says it again where it cannot be reached.
  }
}

// Of rows beyond the page that was fetched the list says nothing: which of them are closed is asked for.
export async function closedOf(rows) {
  if (!rows.length) return [];
  try {
    const pieces = await newsOf(rows.slice(0, 100).map((row) => row.dataset.id));
    const closed = (row) => pieces.has(row.dataset.id) && !("open" in pieces.get(row.dataset.id).dataset);
    return rows.filter((row) => row.isConnected && closed(row));
  } catch {
    return [];
  }
}

export function leave(rows, left) {
  const fresh = rows.filter((row) => !row.classList.contains("is-gone"));
  fresh.forEach(fade);
  if (fresh.length) tellFates(fresh);
  for (const row of fresh) {
    const go = () => {
      // Undone meanwhile, another row stands in its place.
      if (!row.isConnected) return;
      if (held(row)) setTimeout(go, STAY);
      else {
        row.remove();
        left();
      }
    };
    setTimeout(go, STAY);
  }
}
