// One file or text, rendered from its tree; where something is marked in it, that is scrolled into view.

export default function (component) {
  const { data, parentElement } = component;
  mounted(parentElement, "document", data, (root) => {
    root.replaceChildren(...build(data.tree, {}));
    const marked = root.querySelector("mark");
    if (marked) requestAnimationFrame(() => marked.scrollIntoView({ block: "center" }));
  });
}
