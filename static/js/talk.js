// A conversation that is open: earlier messages as one scrolls up, words as they are written, the newest kept in view.
import { enhance } from "./enhance.js";
import { fetchPage, refresh } from "./parts.js";
import { gettext } from "./words.js";

let atEnd = false;
const NEAR = 120;

const scroller = () => document.scrollingElement;
const chat = () => document.querySelector("[data-chat]");

function isAtEnd() {
  const box = scroller();
  return box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
}

// At once: pages glide where they are sent, and somebody who scrolls meanwhile would be carried off.
const put = (top) => scroller().scrollTo({ top, behavior: "instant" });

function toEnd() {
  put(scroller().scrollHeight);
  atEnd = true;
}

// Two days that meet are one: the older page ends with the day that the newer one begins with.
function joinDays(earlier) {
  const days = [...earlier.parentElement.querySelectorAll(".day")];
  days.forEach((day, at) => {
    if (at && day.textContent === days[at - 1].textContent) day.remove();
  });
}

async function loadEarlier(link) {
  const place = link.closest("[data-earlier]");
  if (!place || link.dataset.loading) return;
  link.dataset.loading = "1";
  link.setAttribute("aria-busy", "true");
  try {
    const page = await fetchPage(link.href);
    const older = page.querySelector("[data-part][data-first]");
    if (!older || !place.isConnected) return;
    const height = scroller().scrollHeight;
    const top = scroller().scrollTop;
    const focused = document.activeElement === link;
    link.closest(".talk-older").remove();
    const more = page.querySelector("[data-earlier] .talk-older");
    const fresh = document.createElement("div");
    fresh.className = "earlier";
    fresh.append(...[...older.childNodes].map((one) => document.importNode(one, true)));
    place.prepend(fresh);
    if (more) place.prepend(document.importNode(more, true));
    joinDays(place);
    enhance(place);
    // What was read stays where it was on the screen.
    put(top + scroller().scrollHeight - height);
    if (focused) place.querySelector("[data-older]")?.focus({ preventScroll: true });
    watchOlder();
  } catch {
    link.removeAttribute("aria-busy");
    delete link.dataset.loading;
  }
}

const seen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) if (entry.isIntersecting && touched) loadEarlier(entry.target);
  },
  { rootMargin: "800px 0px" },
);
// Nothing is loaded before somebody scrolls: a short page has its link in view from the start.
let touched = false;

// Looked at anew: the page may have been scrolled before the event that says so came here.
function touch() {
  if (touched) return;
  touched = true;
  watchOlder();
}

function watchOlder() {
  seen.disconnect();
  for (const link of document.querySelectorAll("[data-older]")) seen.observe(link);
}

// The page began anew at its end, since very much has come: what was loaded before it no longer joins on.
function beganAnew(node) {
  const place = node.parentElement.querySelector("[data-earlier]");
  const was = node.parentElement.dataset.began;
  node.parentElement.dataset.began = node.dataset.first;
  if (!place || was === undefined || was === node.dataset.first) return;
  const link = document.createElement("a");
  link.className = "btn btn-line";
  link.dataset.older = "";
  link.href = `${location.pathname}?before=${encodeURIComponent(node.dataset.first)}`;
  link.textContent = gettext("Show earlier messages");
  const line = document.createElement("p");
  line.className = "talk-older";
  line.append(link);
  place.replaceChildren(line);
  watchOlder();
}

function changed(node) {
  if (node.dataset.first) beganAnew(node);
  if (node.dataset.part === "words") announce(node);
  if (node.dataset.part === "say") bringDraft(node);
  if (atEnd && chat()?.contains(node)) toEnd();
}

// What is being written outlives that the composer goes away while the agent waits for somebody.
const drafts = new Map();
function keepDraft(area) {
  drafts.set(area.dataset.draft, area.value);
}
function bringDraft(node) {
  // Where nothing can be said, a remark can be made.
  if (!node.querySelector("form")) document.querySelector(".remark")?.setAttribute("open", "");
  const area = node.querySelector("textarea[data-draft]");
  if (area && !area.value) area.value = drafts.get(area.dataset.draft) ?? "";
}

let writing = false;
function announce(node) {
  const now = node.querySelector(".is-writing") !== null;
  if (writing && !now) document.getElementById("announce").textContent = gettext("A message has come.");
  writing = now;
}

export function startTalk() {
  for (const part of document.querySelectorAll("[data-part][data-first]")) part.parentElement.dataset.began = part.dataset.first;
  document.addEventListener("sayso:part", (event) => changed(event.detail));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-older]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    loadEarlier(link);
  });
  addEventListener("scroll", () => (atEnd = isAtEnd()), { passive: true });
  for (const act of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(act, touch, { passive: true });
  document.addEventListener("input", (event) => {
    if (event.target.matches?.("textarea[data-draft]")) keepDraft(event.target);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    const area = event.target.closest?.("textarea[data-draft]");
    const button = area?.form.querySelector("button:not([disabled])");
    if (button) area.form.requestSubmit(button);
  });
  document.addEventListener("sayso:hint", (event) => {
    if (event.detail.topic !== "words") return;
    for (const words of document.querySelectorAll("[data-words]")) {
      const { thread } = words.closest("[data-thread]").dataset;
      if (thread === event.detail.thread) refresh(words.parentElement, words.dataset.words);
    }
  });
  watchOlder();
  // A conversation opens where it goes on; when all has its size, once more.
  if (chat() && ["", "#say"].includes(location.hash) && !location.search) {
    toEnd();
    addEventListener("load", () => setTimeout(toEnd));
  }
}
