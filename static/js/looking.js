// Who else looks: this page says which question it shows, and puts the others' faces wherever it shows one.
import { fetchPage } from "./parts.js";

// Said again within the time after which the server forgets it.
const BEAT = 20000;
const AGAIN = 15000;
let told = "",
  wanted = new Set(),
  asking = false,
  lastSaid = 0;

const places = () => [...document.querySelectorAll("[data-looking]")];

// A hidden tab is looked at by nobody.
function say(send) {
  const id = document.hidden ? "" : (document.querySelector("[data-review]")?.dataset.review ?? "");
  if ((id || told) && send({ look: id })) told = id;
}

// What the server knows of questions that this page shows, as one piece for each.
export async function newsOf(ids) {
  const query = new URLSearchParams(ids.map((id) => ["id", id]));
  const page = await fetchPage(`${document.getElementById("announce").dataset.news}?${query}`);
  return new Map([...page.querySelectorAll("[data-about]")].map((one) => [one.dataset.about, one]));
}

// Of the question that is read somebody is told by voice as well, at most once in five seconds.
function announce(place, names) {
  if (!place.closest("[data-review]") || !names.length || Date.now() - lastSaid < 5000) return;
  lastSaid = Date.now();
  document.getElementById("announce").textContent = names.join(", ");
}

function put(place, piece) {
  const fresh = piece?.querySelector("[data-looking]");
  const words = (root) => [...(root?.querySelectorAll(".looking-word, .looking-more") ?? [])].map((one) => one.textContent);
  const [before, now] = [words(place), words(fresh)];
  if (before.join() === now.join()) return;
  place.replaceChildren(...[...(fresh?.childNodes ?? [])].map((node) => document.importNode(node, true)));
  announce(
    place,
    now.filter((one) => !before.includes(one)),
  );
}

async function ask() {
  if (asking || !wanted.size) return;
  asking = true;
  const ids = [...wanted].slice(0, 100);
  wanted = new Set();
  try {
    const pieces = await newsOf(ids);
    for (const place of places()) if (ids.includes(place.dataset.looking)) put(place, pieces.get(place.dataset.looking));
  } catch {
    // It is only a warning: the next hint or beat brings it.
  } finally {
    asking = false;
    ask();
  }
}

function askFor(chosen) {
  for (const place of places()) if (chosen(place)) wanted.add(place.dataset.looking);
  if (!document.hidden) ask();
}

export function startLooking(send) {
  const sayNow = () => say(send);
  document.addEventListener("sayso:hello", () => {
    told = "";
    sayNow();
  });
  document.addEventListener("sayso:watch", sayNow);
  document.addEventListener("visibilitychange", () => {
    sayNow();
    askFor((place) => place.childElementCount);
  });
  document.addEventListener("sayso:hint", (event) => {
    const { topic, interrupt } = event.detail;
    if (topic === "presence") askFor((place) => place.dataset.looking === interrupt);
  });
  document.addEventListener("sayso:resync", () => askFor(() => true));
  setInterval(sayNow, BEAT);
  // Who fell silent without a word is gone by then.
  setInterval(() => askFor((place) => place.childElementCount), AGAIN);
}
