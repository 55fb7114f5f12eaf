// Help with filling in: a search above long lists of choices, and a calendar beside date-times, in the reader's zone.
import { own } from "./times.js";
import { gettext, fill } from "./words.js";

function narrow(list, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const choice of list.querySelectorAll(".choice")) {
    const label = choice.textContent.toLowerCase();
    choice.hidden = !words.every((word) => label.includes(word)) && !choice.querySelector(":checked");
  }
}

function search(list) {
  const input = document.createElement("input");
  Object.assign(input, { type: "search", className: "form-control choice-search", placeholder: list.dataset.filter });
  input.setAttribute("aria-label", list.dataset.filter);
  input.addEventListener("input", () => narrow(list, input.value));
  // Enter would press the form's first button.
  input.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  list.before(input);
  list.dataset.ready = "";
}

// How far a zone is from UTC at a moment, in minutes.
function offset(moment, zone) {
  const parts = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" }).formatToParts(moment);
  const text = parts.find((one) => one.type === "timeZoneName").value;
  const [, sign, hours, minutes] = text.match(/([+-])(\d\d):(\d\d)/) ?? ["", "+", "0", "0"];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

const shifted = (moment, minutes) => new Date(moment.getTime() + minutes * 60000).toISOString().slice(0, 16);
const local = (moment, zone) => shifted(moment, offset(moment, zone));

// What a clock on the wall of a zone says, with that zone's distance from UTC on that day.
function withOffset(text, zone) {
  const wall = new Date(`${text}Z`);
  const first = offset(wall, zone);
  const minutes = offset(new Date(wall.getTime() - first * 60000), zone);
  const two = (number) => String(Math.trunc(Math.abs(number))).padStart(2, "0");
  return `${text}${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}

function told(field, calendar, zone) {
  const moment = new Date(/[zZ]$|[+-]\d\d:?\d\d$/.test(field.value) ? field.value : `${field.value}Z`);
  calendar.value = field.value && !Number.isNaN(moment.getTime()) ? local(moment, zone) : "";
}

function calendarFor(field) {
  const calendar = document.createElement("input");
  const zone = own();
  const label = fill(gettext("Date and time in your zone, %(zone)s"), { zone });
  Object.assign(calendar, { type: "datetime-local", className: "form-control", title: label });
  calendar.setAttribute("aria-label", label);
  calendar.addEventListener("change", () => {
    if (!calendar.value) return;
    field.value = withOffset(calendar.value.slice(0, 16), zone);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  field.addEventListener("change", () => told(field, calendar, zone));
  told(field, calendar, zone);
  const pair = document.createElement("div");
  pair.className = "moment";
  field.before(pair);
  pair.append(field, calendar);
  delete field.dataset.datetime;
}

export function givePickers(root) {
  for (const list of root.querySelectorAll("[data-filter]:not([data-ready])")) search(list);
  for (const field of root.querySelectorAll("input[data-datetime]")) calendarFor(field);
}
