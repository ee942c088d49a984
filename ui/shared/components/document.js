// One file or text, rendered from its tree.

export default function (component) {
  const { data, parentElement } = component;
  mounted(parentElement, "document", data, (root) => {
    root.replaceChildren(...build(data.tree, {}));
  });
}
