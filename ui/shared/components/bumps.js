// Passages as lines whose rank moves from list to list. Hovering or focusing a passage lifts its line.

const SVG = "http://www.w3.org/2000/svg";
const ROW = 30, TOP = 44, LABELS = 300, RIGHT = 26, LEFT = 44;

export default function (component) {
  const { data, parentElement } = component;
  const root = mounted(parentElement, "bumps", data, (node) => {
    node.replaceChildren(element("div", { class: "wrap" }));
    draw(node, data);
  });
  const observer = new ResizeObserver(() => {
    const width = Math.round(root.clientWidth);
    if (width && root.drawn !== width) draw(root, data);
  });
  observer.observe(root);
  return () => observer.disconnect();
}

function shape(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children.map((child) => child instanceof Node ? child : document.createTextNode(String(child))));
  return node;
}

function draw(root, data) {
  const width = Math.round(root.clientWidth);
  root.drawn = width;
  const depth = data.depth;
  const least = LABELS + RIGHT + LEFT + Math.max(160, (data.columns.length - 1) * 78);
  const full = Math.max(width - 4, least);
  const x = (column) => LEFT + column * ((full - LABELS - RIGHT - LEFT) / Math.max(1, data.columns.length - 1));
  const y = (rank) => TOP + Math.min(rank, depth + 1) * ROW - ROW / 2;
  const height = TOP + (depth + 1) * ROW + 8;
  const svg = shape("svg", { width: full, height, role: "group", "aria-label": data.label });
  data.columns.forEach((name, column) => svg.append(
    shape("text", { class: "column", "text-anchor": "middle" }, ...name.split(" ").map((word, line, words) =>
      shape("tspan", { x: x(column), y: (words.length > 1 ? 11 : 25) + line * 14 }, word))),
    shape("line", { x1: x(column), x2: x(column), y1: TOP - 14, y2: height - 12, class: "rule" })));
  for (const row of data.rows) svg.append(line(row, data, { x, y, depth }));
  root.querySelector(".wrap").replaceChildren(svg);
}

function line(row, data, { x, y, depth }) {
  const group = shape("g", { class: `row ${row.kept ? "kept" : ""}`, tabindex: 0, role: "img",
    "aria-label": `${row.label}: ${row.story}` }, shape("title", {}, `${row.where}\n${row.story}`));
  const points = row.ranks.map((rank, column) => (rank === null ? null : { column, rank }));
  points.forEach((point, index) => {
    const next = points.slice(index + 1).find(Boolean);
    if (point && next) {
      const [x1, y1, x2, y2] = [x(point.column), y(point.rank), x(next.column), y(next.rank)];
      const half = (x1 + x2) / 2;
      const gap = next.column - point.column > 1 ? " gap" : "";
      group.append(shape("path", { d: `M${x1},${y1} C${half},${y1} ${half},${y2} ${x2},${y2}`, class: `link${gap}` }));
    }
  });
  for (const point of points.filter(Boolean)) {
    const out = point.rank > depth;
    group.append(shape("circle", { cx: x(point.column), cy: y(point.rank), r: 10, class: out ? "out" : "dot" }),
      shape("text", { x: x(point.column), y: y(point.rank) + 4, class: "rank", "text-anchor": "middle" }, out ? "+" : point.rank));
  }
  const last = points.filter(Boolean).at(-1), column = data.columns.length - 1;
  if (row.end) group.append(...ended(last, { x: x(column), y: y(row.end) }, { x, y }));
  const place = row.end || (last?.column === column && last.rank);
  if (place && place <= depth) {
    group.append(shape("text", { x: x(column) + 20, y: y(place) + 4, class: "label" }, clip(row.label, 42)));
  }
  return group;
}

// A passage that the last list does not have: a cross below those that it has, and the way there.
function ended(last, at, { x, y }) {
  const cross = shape("path", { d: `M${at.x - 5},${at.y - 5} l10,10 m0,-10 l-10,10`, class: "cross" });
  if (!last) return [cross];
  const [left, top] = [x(last.column) + 10, y(last.rank)], half = (left + at.x) / 2;
  return [shape("path", { d: `M${left},${top} C${half},${top} ${half},${at.y} ${at.x - 8},${at.y}`, class: "link gap" }), cross];
}

const clip = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
