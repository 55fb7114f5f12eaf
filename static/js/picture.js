// The graph as an SVG: dagre places it, attributes alone draw it, and every node can be reached by keyboard.
import { layout, Graph } from "../vendor/dagre/dagre.esm.js";
import { fill, gettext } from "./words.js";

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 212,
  HEIGHT = 56;
// Smaller than this nobody reads it: a larger picture is scrolled instead.
const READABLE = 0.85,
  MOST_HIGH = 460;
let scale = 0,
  home = null,
  sprite = "";

const el = (name, attributes = {}, ...children) => {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function place(data) {
  const graph = new Graph({ compound: true, multigraph: true });
  const flow = window.matchMedia("(min-width: 768px)").matches ? "LR" : "TB";
  graph.setGraph({ rankdir: flow, nodesep: 26, ranksep: 44, marginx: 20, marginy: 20 });
  const inside = new Map();
  for (const node of data.nodes) if (node.parent) inside.set(node.parent, [...(inside.get(node.parent) ?? []), node]);
  for (const node of data.nodes)
    graph.setNode(node.path, inside.has(node.path) ? { label: node.label } : { width: WIDTH, height: HEIGHT });
  for (const node of data.nodes) if (node.parent) graph.setParent(node.path, node.parent);
  // An edge to a nested graph meets the nodes it begins and ends with: a cluster itself has no place to meet.
  const ends = (path, which) => {
    const children = inside.get(path);
    if (!children) return [path];
    const chosen = children.filter((child) => child[which]);
    return (chosen.length ? chosen : children).flatMap((child) => ends(child.path, which));
  };
  const edges = [];
  data.edges.forEach((edge, at) => {
    for (const source of ends(edge.source, "terminal")) {
      for (const target of ends(edge.target, "entry")) {
        const label = edge.label ? cut(String(edge.label), 18) : "";
        graph.setEdge(source, target, label ? { label, width: label.length * 6.4 + 10, height: 16 } : {}, `e${at}`);
        edges.push({ source, target, name: `e${at}`, label });
      }
    }
  });
  layout(graph);
  return { graph, edges, inside };
}

function drawEdge(graph, edge, states) {
  const { points, x, y, width } = graph.edge(edge.source, edge.target, edge.name);
  const path = points.map((point, at) => `${at ? "L" : "M"}${point.x.toFixed(1)},${point.y.toFixed(1)}`).join("");
  const idle = states.get(edge.target) === "idle" || states.get(edge.source) === "idle";
  const group = el(
    "g",
    { class: `g-edge${idle ? " is-idle" : ""}` },
    el("path", { d: smooth(points) || path, "marker-end": "url(#arrow)" }),
  );
  if (edge.label && x !== undefined) {
    group.append(el("rect", { x: x - width / 2, y: y - 8, width, height: 16, rx: 4 }));
    const text = el("text", { x, y: y + 4, "text-anchor": "middle" });
    text.textContent = edge.label;
    group.append(text);
  }
  return group;
}

function smooth(points) {
  if (points.length < 3) return "";
  const at = (p) => `${p.x.toFixed(1)},${p.y.toFixed(1)}`;
  let path = `M${at(points[0])}`;
  for (let i = 1; i < points.length - 1; i++) {
    const end =
      i === points.length - 2
        ? points[i + 1]
        : { x: (points[i].x + points[i + 1].x) / 2, y: (points[i].y + points[i + 1].y) / 2 };
    path += `Q${at(points[i])} ${at(end)}`;
  }
  return path;
}

function drawNode(node, where) {
  const left = where.x - WIDTH / 2,
    top = where.y - HEIGHT / 2;
  const marks = node.marks.map((mark) => fill(gettext("%(outcome)s by %(who)s"), mark)).join(", ");
  const pass = node.visits > 1 ? fill(gettext("pass %(visit)s"), { visit: node.visits }) : "";
  const label = `${node.label}: ${[node.word, pass, marks].filter(Boolean).join(", ")}`;
  const group = el("g", {
    class: `g-node state-${node.state} tone-${node.tone}`,
    tabindex: "0",
    role: "img",
    "aria-label": label,
    "data-path": node.path,
  });
  const title = el("title");
  title.textContent = `${node.label} (${node.path}): ${node.word}`;
  const name = el("text", { x: left + 36, y: top + 24 });
  name.textContent = cut(node.label, node.waiting ? 19 : 22);
  const word = el("text", { x: left + 36, y: top + 42, class: "g-word" });
  const shown = node.marks.slice(-2);
  word.textContent = cut([node.word, pass].filter(Boolean).join(" · "), 28 - shown.length * 7);
  const icon = el(
    "svg",
    { x: left + 11, y: top + 13, width: 17, height: 17, class: "g-ico" },
    el("use", { href: `${sprite}#${node.icon}` }),
  );
  group.append(title, el("rect", { x: left, y: top, width: WIDTH, height: HEIGHT, rx: 10 }), icon, name, word);
  if (node.waiting) {
    const count = el("text", { x: left + WIDTH - 20, y: top + 23, "text-anchor": "middle" });
    count.textContent = String(node.waiting);
    group.append(el("g", { class: "g-badge" }, el("circle", { cx: left + WIDTH - 20, cy: top + 19, r: 9 }), count));
  }
  // Inside the node: on its border they would hide it. The list beside the picture has them all.
  shown.forEach((mark, at) => {
    const x = left + WIDTH - 28 - (shown.length - 1 - at) * 40,
      no = ["circle-x", "ban", "hourglass"].includes(mark.icon);
    const text = el("text", { x, y: top + 42, "text-anchor": "middle" });
    text.textContent = `${no ? "✕" : "✓"} ${mark.who}`;
    group.append(
      el(
        "g",
        { class: `g-mark ${no ? "is-no" : "is-yes"}` },
        el("rect", { x: x - 18, y: top + 31, width: 36, height: 16, rx: 8 }),
        text,
      ),
    );
  });
  return group;
}

function drawCluster(node, where) {
  const text = el("text", { x: where.x - where.width / 2 + 10, y: where.y - where.height / 2 + 14 });
  text.textContent = node.label;
  return el(
    "g",
    { class: "g-cluster" },
    el("rect", {
      x: where.x - where.width / 2,
      y: where.y - where.height / 2,
      width: where.width,
      height: where.height,
      rx: 12,
    }),
    text,
  );
}

function draw(canvas) {
  const source = document.getElementById("picture-data");
  const data = source ? JSON.parse(source.textContent) : { nodes: [] };
  if (!data.nodes.length) return;
  const focused = document.activeElement?.dataset?.path;
  sprite = document.querySelector(".ico use").getAttribute("href").split("#")[0];
  const { graph, edges, inside } = place(data);
  const states = new Map(data.nodes.map((node) => [node.path, node.state]));
  const svg = el("svg", { role: "group", "aria-label": gettext("Graph"), preserveAspectRatio: "xMidYMid meet" });
  svg.append(
    el(
      "defs",
      {},
      el(
        "marker",
        {
          id: "arrow",
          class: "g-arrow",
          viewBox: "0 0 8 8",
          refX: 7,
          refY: 4,
          markerWidth: 7,
          markerHeight: 7,
          orient: "auto-start-reverse",
        },
        el("path", { d: "M0,0L8,4L0,8z" }),
      ),
    ),
  );
  for (const node of data.nodes) if (inside.has(node.path)) svg.append(drawCluster(node, graph.node(node.path)));
  for (const edge of edges) svg.append(drawEdge(graph, edge, states));
  for (const node of data.nodes) if (!inside.has(node.path)) svg.append(drawNode(node, graph.node(node.path)));
  const { width, height } = graph.graph();
  const same = home && home.w === width && home.h === height;
  home = { w: width, h: height };
  const { scrollLeft, scrollTop } = canvas;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  canvas.hidden = false;
  canvas.replaceChildren(svg);
  document.querySelector("[data-zoom]").hidden = false;
  if (!same) scale = Math.max(READABLE, fitting(canvas));
  show(canvas);
  if (same) canvas.scrollTo(scrollLeft, scrollTop);
  else look(canvas, data, graph);
  if (focused) canvas.querySelector(`[data-path="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

// Never larger than drawn: a graph of two nodes would fill the screen.
const fitting = (canvas) => Math.min(1, (canvas.clientWidth || 640) / home.w, MOST_HIGH / home.h);

function show(canvas) {
  const svg = canvas.firstElementChild;
  svg?.setAttribute("width", (home.w * scale).toFixed(1));
  svg?.setAttribute("height", (home.h * scale).toFixed(1));
  tellMore(canvas);
}

function tellMore(canvas) {
  const left = canvas.scrollLeft,
    rest = canvas.scrollWidth - canvas.clientWidth - left;
  canvas.classList.toggle("goes-left", left > 1);
  canvas.classList.toggle("goes-right", rest > 1);
}

// Where a picture is larger than its frame, it opens at what happens now, else at its end.
function look(canvas, data, graph) {
  const drawn = data.nodes.filter((node) => node.state !== "idle");
  const node = drawn.find((one) => ["waiting", "running", "next", "failed"].includes(one.state)) ?? drawn.at(-1);
  if (!node) return;
  const { x, y } = graph.node(node.path);
  canvas.scrollTo(x * scale - canvas.clientWidth / 2, y * scale - canvas.clientHeight / 2);
}

function zoom(canvas, by) {
  const x = (canvas.scrollLeft + canvas.clientWidth / 2) / scale,
    y = (canvas.scrollTop + canvas.clientHeight / 2) / scale;
  scale = by === "fit" ? fitting(canvas) : Math.min(3, Math.max(0.2, scale * (by === "in" ? 1.25 : 0.8)));
  show(canvas);
  canvas.scrollTo(x * scale - canvas.clientWidth / 2, y * scale - canvas.clientHeight / 2);
}

export function startPicture() {
  const canvas = document.querySelector("[data-canvas]");
  if (!canvas) return;
  canvas.hidden = false;
  draw(canvas);
  document.addEventListener("sayso:part", (event) => event.detail.dataset.part === "picture-data" && draw(canvas));
  document.querySelector("[data-zoom]").addEventListener("click", (event) => {
    const button = event.target.closest("[data-zoom-by]");
    if (button) zoom(canvas, button.dataset.zoomBy);
  });
  canvas.addEventListener("keydown", (event) => {
    const by = { "+": "in", "=": "in", "-": "out", 0: "fit" }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    zoom(canvas, by);
  });
  canvas.addEventListener("scroll", () => tellMore(canvas), { passive: true });
  new ResizeObserver(() => tellMore(canvas)).observe(canvas);
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    from = [event.clientX, event.clientY];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from || !event.buttons || event.pointerType === "touch") return;
    canvas.scrollBy(from[0] - event.clientX, from[1] - event.clientY);
    from = [event.clientX, event.clientY];
  });
  canvas.addEventListener("pointerup", () => {
    from = null;
  });
}
