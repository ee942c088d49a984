// Whom and what was spoken of, drawn: a click or Enter on one draws what is around it.

const SVG = "http://www.w3.org/2000/svg";
const LEAST_HEIGHT = 340, MOST_HEIGHT = 560, LEAST_RADIUS = 6, MOST_RADIUS = 15, LABELLED_EDGES = 14;
const CHARACTER = 6.7; // px of a character of a label, about

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const send = (id) => setTriggerValue("open", { id, at: Date.now() });
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
    radius: LEAST_RADIUS + node.size * (MOST_RADIUS - LEAST_RADIUS),
  }]));
  const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": data.label });
  const close = data.edges.filter((edge) => !data.chosen || edge.from === data.chosen || edge.to === data.chosen);
  const labelled = new Set(close.length <= LABELLED_EDGES ? close : []);
  for (const edge of data.edges) svg.append(line(edge, at, labelled.has(edge) && width > 600));
  const order = [...at.values()].sort((one, other) => one.py - other.py || one.px - other.px);
  for (const node of order) svg.append(circle(node, data, at, send, width));
  root.replaceChildren(svg);
  if (focused) root.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

function line(edge, at, labelled) {
  const from = at.get(edge.from), to = at.get(edge.to);
  return shape("g", { class: "edge", "data-from": edge.from, "data-to": edge.to },
    shape("title", {}, `${from.name} ${edge.label} ${to.name}`),
    shape("line", { x1: from.px, y1: from.py, x2: to.px, y2: to.py }),
    labelled ? shape("text", { x: (from.px + to.px) / 2, y: (from.py + to.py) / 2 - 4, "text-anchor": "middle" },
      clip(edge.label, 24)) : null);
}

function circle(node, data, at, send, width) {
  const around = data.edges.filter((edge) => edge.from === node.id || edge.to === node.id);
  const story = around.map((edge) => `${at.get(edge.from).name} ${edge.label} ${at.get(edge.to).name}`).join("; ");
  const room = Math.floor((2 * Math.min(node.px, width - node.px)) / CHARACTER);
  const group = shape("g", {
    class: `node distance-${node.distance}${node.id === data.chosen ? " chosen" : ""}`, tabindex: 0, role: "button",
    "data-id": node.id, "aria-pressed": String(node.id === data.chosen),
    "aria-label": `${node.name}${node.type ? `, ${node.type}` : ""}${story ? `: ${story}` : ""}`,
  }, shape("title", {}, [node.type ? `${node.name}, ${node.type}` : node.name, story].filter(Boolean).join("\n")),
  shape("circle", { cx: node.px, cy: node.py, r: node.radius }),
  shape("text", { x: node.px, y: node.py + node.radius + 14, "text-anchor": "middle" }, clip(node.name, Math.max(6, Math.min(26, room)))));
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

const clip = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
