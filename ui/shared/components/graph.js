// The graph of entities: a click or Enter on one draws what is around it.

const SVG = "http://www.w3.org/2000/svg";
const LEAST_HEIGHT = 440, MOST_HEIGHT = 560, LEAST_RADIUS = 6, MOST_RADIUS = 14, PHONE_RADIUS = 9, PHONE = 600;
const CHARACTER = 6.7; // px of a character of a label, about

export default function (component) {
  const { data, parentElement } = component;
  const trigger = sender(component);
  const send = (id) => trigger("open", { id });
  const root = mounted(parentElement, "graph", data, (node) => draw(node, data, send));
  const observer = new ResizeObserver(() => {
    if (root.clientWidth && root.drawn !== Math.round(root.clientWidth)) draw(root, data, send);
  });
  observer.observe(root);
  return () => observer.disconnect();
}

function shape(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...children.filter((child) => child !== null)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
  return node;
}

function draw(root, data, send) {
  const width = Math.max(280, Math.round(root.clientWidth));
  root.drawn = Math.round(root.clientWidth);
  const focused = root.getRootNode().activeElement?.dataset?.id;
  const height = Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, Math.round(width * 0.56)));
  const side = Math.min(70, width * 0.12);
  const at = new Map(data.nodes.map((node) => [node.id, {
    ...node, px: side + node.x * (width - 2 * side), py: 16 + node.y * (height - 52),
    radius: LEAST_RADIUS + node.size * ((width < PHONE ? PHONE_RADIUS : MOST_RADIUS) - LEAST_RADIUS),
  }]));
  const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": data.label });
  for (const edge of data.edges) svg.append(line(edge, at));
  const order = [...at.values()].sort((one, other) => one.py - other.py || one.px - other.px);
  for (const node of order) svg.append(circle(node, data, at, send));
  for (const node of order) svg.append(name(node, data, width));
  root.replaceChildren(svg);
  if (focused) root.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

// A line with its words, where there is room for them between its ends; else they are in its tooltip.
function line(edge, at) {
  const from = at.get(edge.from), to = at.get(edge.to);
  const labelled = Math.abs(from.px - to.px) > edge.label.length * CHARACTER + from.radius + to.radius;
  return shape("g", { class: "edge", "data-from": edge.from, "data-to": edge.to },
    shape("title", {}, `${from.name} ${edge.label} ${to.name}`),
    shape("line", { x1: from.px, y1: from.py, x2: to.px, y2: to.py }),
    labelled ? shape("text", { x: (from.px + to.px) / 2, y: (from.py + to.py) / 2 - 4, "text-anchor": "middle" },
      edge.label) : null);
}

function circle(node, data, at, send) {
  const around = data.edges.filter((edge) => edge.from === node.id || edge.to === node.id);
  const story = around.map((edge) => `${at.get(edge.from).name} ${edge.label} ${at.get(edge.to).name}`).join("; ");
  const group = shape("g", {
    class: `node distance-${node.distance}${node.id === data.chosen ? " chosen" : ""}`, tabindex: 0, role: "button",
    "data-id": node.id, "aria-pressed": String(node.id === data.chosen),
    "aria-label": `${node.name}${node.type ? `, ${node.type}` : ""}${story ? `: ${story}` : ""}`,
  }, shape("title", {}, [node.type ? `${node.name}, ${node.type}` : node.name, story].filter(Boolean).join("\n")),
  shape("circle", { class: "touch", cx: node.px, cy: node.py, r: node.radius + 6 }),
  shape("circle", { class: "dot", cx: node.px, cy: node.py, r: node.radius }));
  const open = () => send(node.id === data.chosen ? "" : node.id);
  group.addEventListener("click", open);
  group.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open();
  });
  const light = (on) => group.parentNode?.querySelectorAll(".edge").forEach((edge) => edge.classList.toggle("lit",
    on && (edge.dataset.from === node.id || edge.dataset.to === node.id)));
  for (const [name, on] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]]) {
    group.addEventListener(name, () => light(on));
  }
  return group;
}

// Names lie above all circles: none is covered.
function name(node, data, width) {
  const room = Math.floor((2 * Math.min(node.px, width - node.px)) / CHARACTER);
  const most = Math.max(6, Math.min(width < PHONE ? 14 : 26, room));
  return shape("text", { class: `name${node.id === data.chosen ? " chosen-name" : ""}`, "aria-hidden": "true", x: node.px,
    y: node.py + node.radius + 13, "text-anchor": "middle" }, clip(node.name, most));
}

const clip = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
