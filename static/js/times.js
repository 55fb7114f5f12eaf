// Keeps ages and deadlines true, and shows moments in the reader's own zone.
import { fill, gettext } from "./words.js";

// The zone that the reader chose, else the browser's own.
export const own = () => document.documentElement.dataset.zone || Intl.DateTimeFormat().resolvedOptions().timeZone;
const zoned = (options) => new Intl.DateTimeFormat(undefined, { timeZone: own(), ...options });
const FULL = zoned({ dateStyle: "medium", timeStyle: "medium" });
const CLOCK = zoned({ timeStyle: "medium" });
const NAME = zoned({ timeZoneName: "short" });
const zone = (moment) => NAME.formatToParts(moment).find((one) => one.type === "timeZoneName")?.value ?? "";

// Seconds that are no time at all to a reader.
const SOON = 5;

export const span = (seconds) => {
  for (const [size, unit] of [
    [86400, gettext("d")],
    [3600, gettext("h")],
    [60, gettext("min")],
  ]) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return seconds < SOON ? gettext("now") : `${Math.floor(seconds)} s`;
};

export function showTimes(root = document) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.valueOf())) continue;
    if (!time.dataset.zoned) {
      time.title = `${FULL.format(moment)} ${zone(moment)}`;
      time.dataset.zoned = "1";
      if ("at" in time.dataset) time.textContent = time.title;
      if ("clock" in time.dataset) time.textContent = CLOCK.format(moment);
    }
    const away = (Date.now() - moment) / 1000;
    let text = "";
    if ("ago" in time.dataset) {
      const age = span(Math.max(0, away));
      text = away < SOON || time.dataset.ago === "short" ? age : fill(gettext("%(span)s ago"), { span: age });
    } else if ("until" in time.dataset) {
      text = fill(away < 0 ? gettext("in %(span)s") : gettext("by %(span)s"), { span: span(Math.abs(away)) });
    }
    if (text && time.textContent !== text) time.textContent = text;
  }
}

export function startTimes() {
  showTimes();
  setInterval(showTimes, 10000);
}
