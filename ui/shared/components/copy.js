// A button that copies an answer as Markdown, with its sources as footnotes.

export default function (component) {
  const { data, parentElement } = component;
  const label = "Copy with its sources";
  mounted(parentElement, "copy", data, (root) => root.replaceChildren(
    element("button", { class: "tool", title: label, "aria-label": label, onclick: (event) => copy(data.text, event.currentTarget) },
      icon("content_copy"))));
}

async function copy(text, button) {
  const done = await written(text);
  button.dataset.done = String(done);
  button.replaceChildren(icon(done ? "check" : "error"));
  setTimeout(() => button.replaceChildren(icon("content_copy")), 2000);
}

// Writes to the clipboard and returns whether that worked; pages over plain HTTP have only the old API.
async function written(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const field = element("textarea", { style: "position: fixed; opacity: 0" });
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}
