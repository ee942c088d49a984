// The table of indexed documents: a filter, a click to read one, a button to delete one.

export default function (component) {
  const { data, parentElement } = component;
  const send = sender(component);
  const root = mounted(parentElement, "files", data, (node) => render(node, data, send));
  root.filter?.();
}

function render(root, data, send) {
  const wanted = root.querySelector("input")?.value || "";
  const typed = root.getRootNode().activeElement?.matches("input");
  const input = element("input", { type: "search", placeholder: "Filter by name or title", value: wanted,
    "aria-label": "Filter the documents" });
  const rows = data.files.map((file) => row(file, data, send));
  const none = element("p", { class: "none", hidden: true }, "No document matches.");
  const count = element("span", { class: "count" });
  root.filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    data.files.forEach((file, index) => {
      const text = `${file.source} ${file.title}`.toLowerCase();
      const match = words.every((word) => text.includes(word));
      rows[index].hidden = !match;
      shown += match ? 1 : 0;
    });
    none.hidden = shown > 0;
    count.textContent = shown === data.files.length ? `${shown} documents` : `${shown} of ${data.files.length} documents`;
  };
  input.addEventListener("input", root.filter);
  root.replaceChildren(
    element("div", { class: "bar" }, input, count),
    element("div", { class: "scroll", tabindex: "0" }, element("table", {},
      element("thead", {}, element("tr", {},
        element("th", {}, "Document"), element("th", { class: "number" }, "Sections"),
        element("th", { class: "number" }, "Sentences"), element("th", {}, "Indexed"), element("th", {},
          element("span", { class: "sr" }, "Delete")))),
      element("tbody", {}, rows))),
    none);
  if (typed) input.focus({ preventScroll: true });
}

function row(file, data, send) {
  const source = { source: file.source };
  return element("tr", {},
    element("td", {}, element("button", { class: "name", onclick: () => send("open", source) },
      element("span", { class: "title" }, file.title), element("span", { class: "source" }, file.source),
      file.converted ? element("span", { class: "source" }, file.converted) : null)),
    element("td", { class: "number" }, file.sections), element("td", { class: "number" }, file.sentences),
    element("td", { class: "when" }, file.indexed),
    element("td", { class: "act" }, element("button", { class: "tool", title: `Delete ${file.source}`, disabled: data.busy,
      "aria-label": `Delete ${file.source}`, onclick: () => send("remove", source) }, icon("delete"))));
}
