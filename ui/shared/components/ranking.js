// A ranking: a name, a bar and what it stands for in words, a line each. A click opens the name.

export default function (component) {
  const { data, parentElement } = component;
  const send = sender(component);
  mounted(parentElement, "ranking", data, (root) => root.replaceChildren(
    element("ol", { class: "rows", "aria-label": data.label }, data.rows.map((row) => element("li", {},
      element("button", { class: "row", title: row.detail, onclick: () => send("open", { id: row.id }) },
        element("span", { class: "name" }, row.name),
        element("span", { class: "bar", "aria-hidden": "true" }, share(row.share)),
        element("span", { class: "words" }, row.words)))))));
}

function share(part) {
  const fill = element("span", {});
  fill.style.width = `${Math.max(2, Math.round(part * 100))}%`;
  return fill;
}
