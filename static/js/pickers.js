// Help with filling in: a search above long lists of choices, and a calendar beside date-times, in the reader's zone.
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

const two = (number) => String(Math.trunc(Math.abs(number))).padStart(2, "0");

function offset(moment) {
  const minutes = -moment.getTimezoneOffset();
  return `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}

const local = (moment) =>
  `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}T${two(moment.getHours())}:${two(moment.getMinutes())}`;

function told(field, calendar) {
  const moment = new Date(/[zZ]$|[+-]\d\d:?\d\d$/.test(field.value) ? field.value : `${field.value}Z`);
  calendar.value = field.value && !Number.isNaN(moment.getTime()) ? local(moment) : "";
}

function calendarFor(field) {
  const calendar = document.createElement("input");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const label = fill(gettext("Date and time in your zone, %(zone)s"), { zone });
  Object.assign(calendar, { type: "datetime-local", className: "form-control", title: label });
  calendar.setAttribute("aria-label", label);
  calendar.addEventListener("change", () => {
    if (!calendar.value) return;
    field.value = calendar.value.slice(0, 16) + offset(new Date(calendar.value));
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  field.addEventListener("change", () => told(field, calendar));
  told(field, calendar);
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
