// The doorbell: a socket that carries hints only. What it says is fetched from the pages; when it is silent, they are polled.
import { startLooking } from "./looking.js";
import { fill, gettext } from "./words.js";

const LEAST = 500,
  MOST = 30000,
  POLL = 10000,
  SLOW_POLL = 60000;
let socket = null,
  tries = 0,
  poll = 0,
  polled = 0,
  everOpen = false,
  downSince = 0,
  queued = new Map(),
  timer = 0;

const emit = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));

function show(state) {
  const words = {
    on: gettext("Live"),
    starting: gettext("Connecting"),
    connecting: gettext("Reconnecting"),
    polling: gettext("Checking every 10 s"),
    off: gettext("Not live"),
  };
  for (const place of document.querySelectorAll("[data-live]")) {
    place.dataset.live = state;
    place.querySelector(".live-word").textContent = words[state];
    place.title = fill(gettext("How this page hears of changes: %(state)s"), { state: words[state].toLowerCase() });
  }
}

// Hints that come together become one refresh each.
function hint(data) {
  const about = data.topic === "presence" ? data.interrupt : data.thread;
  queued.set(`${data.topic}.${about ?? ""}`, data);
  timer ||= setTimeout(() => {
    timer = 0;
    const all = [...queued.values()];
    queued = new Map();
    for (const one of all) emit("sayso:hint", one);
  }, 60);
}

// A period that already runs is left alone: begun anew by every attempt to reconnect, it would never come to its end.
function pollEvery(period) {
  if (period === polled) return;
  clearInterval(poll);
  polled = period;
  poll = setInterval(() => document.hidden || emit("sayso:resync"), period);
}

function send(message) {
  const open = socket?.readyState === WebSocket.OPEN;
  if (open) socket.send(JSON.stringify(message));
  return open;
}

export function watch() {
  const uids = new Set([...document.querySelectorAll("[data-thread]")].map((one) => one.dataset.thread));
  for (const uid of uids) send({ watch: uid });
}

function lost(event) {
  socket = null;
  if (event.code === 4401) {
    show("off");
    location.reload();
    return;
  }
  downSince ||= Date.now();
  show(Date.now() - downSince > 3000 ? "polling" : everOpen ? "connecting" : "starting");
  setTimeout(() => downSince && show("polling"), 3000);
  pollEvery(POLL);
  // Full jitter: a thousand pages that lost one server do not come back in one moment (F31, F33).
  const ceiling = Math.min(MOST, LEAST * 2 ** tries++);
  setTimeout(connect, Math.max(LEAST / 2, Math.random() * ceiling));
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}/ws/`);
  socket.addEventListener("message", (event) => {
    const data = JSON.parse(event.data);
    if (data.topic === "hello") {
      // Only now the groups are joined: whatever happened before is fetched, whatever comes after is heard.
      tries = 0;
      downSince = 0;
      show("on");
      pollEvery(SLOW_POLL);
      watch();
      emit("sayso:hello");
      if (everOpen || document.querySelector("[data-inbox], [data-thread]")) emit("sayso:resync");
      everOpen = true;
    } else if (["inbox", "thread", "words", "presence"].includes(data.topic)) {
      hint(data);
    }
  });
  socket.addEventListener("close", lost);
}

export function startLive() {
  if (!document.querySelector("[data-live]")) return;
  show("starting");
  document.addEventListener("sayso:watch", watch);
  startLooking(send);
  connect();
}
