// What fresh HTML gets: tabs out of sections, text areas that grow, choices with a search, date-times with a calendar.
import { givePickers } from "./pickers.js";
import { showTimes } from "./times.js";
import { gettext } from "./words.js";

let made = 0;

function makeTabs(box) {
  const panels = [...box.querySelectorAll(":scope > [data-tab]")];
  if (panels.length < 2 || box.classList.contains("is-tabs")) return;
  const list = document.createElement("div");
  list.className = "tablist";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", gettext("Ways to read it"));
  const tabs = panels.map((panel) => {
    const tab = document.createElement("button");
    const id = `tab-${++made}`;
    Object.assign(tab, { type: "button", id, textContent: panel.querySelector(".tab-title")?.textContent ?? panel.dataset.tab });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", `${id}-panel`);
    panel.id = `${id}-panel`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", id);
    list.append(tab);
    return tab;
  });
  const choose = (index, focus = false) => {
    tabs.forEach((tab, at) => {
      tab.setAttribute("aria-selected", String(at === index));
      tab.tabIndex = at === index ? 0 : -1;
      panels[at].hidden = at !== index;
    });
    if (focus) tabs[index].focus();
  };
  list.addEventListener("click", (event) => {
    const at = tabs.indexOf(event.target.closest("button"));
    if (at >= 0) choose(at);
  });
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose((to + tabs.length) % tabs.length, true);
  });
  box.prepend(list);
  box.classList.add("is-tabs");
  choose(0);
}

function grow(area) {
  // Rows, not a height: the policy of the pages allows no style attribute.
  const lines = area.value.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 72)), 0);
  const least = Number((area.dataset.least ??= area.getAttribute("rows") || "1"));
  area.rows = Math.min(12, Math.max(least, lines));
}

// Where the tabs are wider than the screen, the current one is to be seen.
function reveal(tab) {
  const list = tab.parentElement;
  const over = tab.getBoundingClientRect().right - list.getBoundingClientRect().right;
  if (over > 0) list.scrollLeft += over + 16;
}

export function enhance(root) {
  for (const tab of root.querySelectorAll("nav.tablist > [aria-current]")) reveal(tab);
  for (const box of root.querySelectorAll("[data-tabs]")) makeTabs(box);
  for (const area of root.querySelectorAll("textarea[data-grow]")) grow(area);
  for (const button of root.querySelectorAll("[data-keys], [data-copy]")) button.hidden = false;
  givePickers(root);
  showTimes(root);
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  await navigator.clipboard?.writeText(button.dataset.copy);
  document.getElementById("announce").textContent = gettext("Copied.");
  button.classList.add("is-done");
});

document.addEventListener("input", (event) => {
  if (event.target.matches?.("textarea[data-grow]")) grow(event.target);
});
