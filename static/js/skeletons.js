// Grey bars in place of what is being fetched, but only where it takes long enough to be noticed.
const PATIENCE = 150;
const waits = new WeakMap();

function wait(place, by) {
  const left = (waits.get(place) ?? 0) + by;
  waits.set(place, left);
  place.toggleAttribute("data-busy", left > 0);
  return left;
}

function bars(count) {
  const box = document.createElement("div");
  box.className = "skeletons";
  box.setAttribute("aria-hidden", "true");
  box.append(...Array.from({ length: count }, () => Object.assign(document.createElement("div"), { className: "skeleton" })));
  return box;
}

// Returns what ends the wait; `beside` keeps what is there above the bars.
export function patiently(place, count, beside = false) {
  const box = bars(count);
  let over = false;
  const show = () => {
    place.append(box);
    place.classList.toggle("is-waiting", !beside);
  };
  const timer = setTimeout(show, place.classList.contains("is-waiting") ? 0 : PATIENCE);
  wait(place, 1);
  return () => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    box.remove();
    if (!wait(place, -1)) place.classList.remove("is-waiting");
  };
}
