// Single letters, inactive in fields and switchable off; a and r only move to a button, they never press it.
const OFF = "sayso.keys";
const off = () => {
  try {
    return localStorage.getItem(OFF) === "off";
  } catch {
    return false;
  }
};
const inField = (target) => target.closest?.("input, textarea, select, [contenteditable]");
const go = { i: "/inbox", t: "/threads", l: "/launch" };
let prefix = "";

function step(by) {
  const links = [...document.querySelectorAll("[data-rows] .row-link")];
  if (!links.length) return;
  const at = links.indexOf(document.activeElement);
  const from = at >= 0 ? at : links.findIndex((link) => link.getAttribute("aria-current") === "true");
  const next = links[Math.min(links.length - 1, Math.max(0, from + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function focusAct(name) {
  const button =
    document.querySelector(`.bar [data-act="${name}"]`) ??
    (name === "approve" ? document.querySelector('.bar [data-act="answer"]') : null);
  button?.focus();
}

const acts = {
  j: () => step(1),
  k: () => step(-1),
  o: () => document.activeElement.closest?.(".row-link")?.click(),
  "/": () => document.querySelector("input[type=search]")?.focus(),
  "?": () => document.getElementById("keys")?.showModal(),
  c: () => (document.getElementById("comment") ?? document.getElementById("remark"))?.focus(),
  a: () => focusAct("approve"),
  r: () => focusAct("reject"),
  g: () => {
    prefix = "g";
    setTimeout(() => {
      prefix = "";
    }, 1200);
  },
};

export function startKeys() {
  const box = document.querySelector("[data-keys-off]");
  if (box) {
    box.checked = off();
    box.addEventListener("change", () => localStorage.setItem(OFF, box.checked ? "off" : "on"));
  }
  document.addEventListener(
    "click",
    (event) => event.target.closest("[data-keys]") && document.getElementById("keys").showModal(),
  );
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (inField(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (off() || document.querySelector("dialog[open]")) return;
    if (prefix === "g" && go[event.key]) {
      location.href = go[event.key];
      return;
    }
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    acts[event.key]();
  });
}
