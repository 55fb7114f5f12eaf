// Charts of tables that are on the page anyway: uPlot draws the columns that a place names.
import { gettext } from "./words.js";

const HEIGHT = 220;
// What people count time in.
const STEPS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 604800, 1209600, 2592000];
// More points than these hide the line.
const MOST_POINTS = 40;
const COLOURS = ["--accent", "--h1", "--h2"];
const UNITS = [
  [86400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

function span(seconds) {
  if (!seconds) return "0";
  const [size, unit] = UNITS.find(([size]) => seconds >= size) ?? UNITS[3];
  return `${Math.round((seconds / size) * 10) / 10} ${gettext(unit)}`;
}

const number = (cell) => (cell.dataset.v === "" ? null : Number(cell.dataset.v));

function columns(table) {
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows];
  return new Map(heads.map((head, at) => [head.dataset.name, { title: head.textContent, cells: rows.map((row) => row.cells[at]) }]));
}

// Noon, so that no zone shifts a day to the one beside it.
const moment = (cell) => new Date(`${cell.dataset.v}T12:00:00`).valueOf() / 1000;

function options(place, series, width, many) {
  const look = getComputedStyle(document.documentElement);
  const colour = (name) => look.getPropertyValue(name).trim();
  const said = place.dataset.unit === "seconds" ? span : (value) => value;
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
  const font = "12px Inter Variable, sans-serif";
  return {
    width,
    height: HEIGHT,
    legend: { live: true },
    cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_, least, most) => [0, Math.max(most ?? 0, 1) * 1.08] } },
    axes: [
      { ...axis, font, values: [[86400, "{D}.{M}.", null, null, null, null, null, null, 1]], space: 60, incrs: [1, 2, 7, 14, 28].map((days) => days * 86400) },
      { ...axis, font, size: place.dataset.unit ? 64 : 44, incrs: place.dataset.unit ? STEPS : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10000], values: (_, ticks) => ticks.map(said) },
    ],
    series: [
      { label: gettext("Day"), value: "{YYYY}-{MM}-{DD}" },
      ...series.map(({ title }, at) => ({
        label: title,
        stroke: colour(COLOURS[at]),
        width: 2,
        dash: at ? [6, 4] : undefined,
        spanGaps: true,
        points: { show: many <= MOST_POINTS, size: 5, fill: colour("--surface") },
        value: (_, value) => (value === null || value === undefined ? "—" : said(value)),
      })),
    ],
  };
}

function draw(place) {
  const table = document.querySelector(`table[data-table="${place.dataset.chart}"]`);
  if (!table || !window.uPlot) return;
  const found = columns(table);
  const series = place.dataset.series.split(" ").map((name) => found.get(name));
  const data = [found.get("day").cells.map(moment), ...series.map(({ cells }) => cells.map(number))];
  place.closest("figure").hidden = false;
  place.plot?.destroy();
  place.plot = new window.uPlot(options(place, series, place.clientWidth, data[0].length), data, place);
}

const all = () => document.querySelectorAll("[data-chart]").forEach(draw);

all();
new MutationObserver(all).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
addEventListener("resize", () => {
  for (const place of document.querySelectorAll("[data-chart]")) place.plot?.setSize({ width: place.clientWidth, height: HEIGHT });
});
