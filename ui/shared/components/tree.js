// Collections, folders and documents as a tree with ticks: a tick on a folder includes everything below it.
// The server sends the contents of open folders only.

export default function (component) {
  const { data, parentElement } = component;
  const send = sender(component);
  const ticked = (parentElement.ticked = new Set(data.ticked));
  const root = mounted(parentElement, "tree", data, (node) => {
    const focused = node.getRootNode().activeElement?.dataset.key;
    node.replaceChildren(list(data.nodes, ticked, false));
    if (focused) [...node.querySelectorAll("[data-key]")].find((one) => one.dataset.key === focused)?.focus();
  });
  acting(root, send);
  root.onchange = (event) => {
    const { path } = event.target.dataset;
    for (const one of [...ticked]) if (one === path || one.startsWith(path.endsWith("/") ? path : `${path}\n`)) ticked.delete(one);
    if (event.target.checked) ticked.add(path);
    send("tick", { paths: [...ticked] });
  };
}

function list(nodes, ticked, above) {
  return element("ul", {}, nodes.map((node) => row(node, ticked, above)));
}

function row(node, ticked, above) {
  if (!node.path) return element("li", { class: "more" }, node.name);
  const on = above || ticked.has(node.path);
  const box = element("input", { type: "checkbox", "data-path": node.path, "data-key": `tick ${node.path}`,
    "aria-label": `Choose ${node.name}`, disabled: above });
  box.checked = on;
  const folder = node.path.endsWith("/");
  const open = Boolean(node.nodes);
  const name = element("button", { class: "name", "data-key": node.path, "data-act": folder ? "unfold" : "open", "data-path": node.path,
    "aria-expanded": folder ? String(open) : null, title: node.about },
  icon(folder ? (open ? "expand_more" : "chevron_right") : "description"), element("span", { class: "words" }, node.name),
  element("span", { class: "about" }, node.about));
  return element("li", {}, element("div", { class: "row" }, box, name), open ? list(node.nodes, ticked, on) : "");
}
