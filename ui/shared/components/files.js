// The table of indexed files: a filter, a click to read one, a button to delete one.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = mounted(parentElement, "files", data, (node) => render(node, data, setTriggerValue));
  root.filter?.();
}

function render(root, data, setTriggerValue) {
  const wanted = root.querySelector("input")?.value || "";
  const input = element("input", { type: "search", placeholder: "Filter by name or title", value: wanted,
    "aria-label": "Filter the files" });
  const rows = data.files.map((file) => row(file, data, setTriggerValue));
  const none = element("p", { class: "none", hidden: true }, "No file matches.");
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
    count.textContent = shown === data.files.length ? `${shown} files` : `${shown} of ${data.files.length} files`;
  };
  input.addEventListener("input", root.filter);
  root.replaceChildren(
    element("div", { class: "bar" }, input, count),
    element("div", { class: "scroll", tabindex: "0" }, element("table", {},
      element("thead", {}, element("tr", {},
        element("th", {}, "File"), element("th", { class: "number" }, "Sections"),
        element("th", { class: "number" }, "Sentences"), element("th", {}, "Indexed"), element("th", {},
          element("span", { class: "sr" }, "Delete")))),
      element("tbody", {}, rows))),
    none);
}

function row(file, data, setTriggerValue) {
  const send = (name) => setTriggerValue(name, { source: file.source, at: Date.now() });
  return element("tr", {},
    element("td", {}, element("button", { class: "name", onclick: () => send("open") },
      element("span", { class: "title" }, file.title), element("span", { class: "source" }, file.source),
      file.converted ? element("span", { class: "source" }, file.converted) : null)),
    element("td", { class: "number" }, file.sections), element("td", { class: "number" }, file.sentences),
    element("td", { class: "when" }, file.indexed),
    element("td", { class: "act" }, element("button", { class: "tool", title: `Delete ${file.source}`, disabled: data.busy,
      "aria-label": `Delete ${file.source}`, onclick: () => send("remove") }, icon("delete"))));
}
