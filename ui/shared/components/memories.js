// A list of facts or of what was said: the words and where they are from; buttons for what can be done to each.

const LONG = 600; // characters

export default function (component) {
  const { data, parentElement } = component;
  const send = sender(component);
  mounted(parentElement, "memories", data, (root) => {
    // A dialog that closes late gives the focus back to what opened it: what was pressed since then has it.
    const focused = root.dataset.pressed || root.getRootNode().activeElement?.dataset?.key;
    delete root.dataset.pressed;
    root.replaceChildren(element("ul", { class: "list" }, data.rows.map((row) => item(row, send))));
    if (focused) [...root.querySelectorAll("[data-key]")].find((node) => node.dataset.key === focused)?.focus();
  });
}

function item(row, send) {
  const acts = element("div", { class: "acts" }, row.acts.map((act) => tool(row, act, send)));
  return element("li", { class: `memory${row.marks.length ? " marked" : ""}`, "data-id": row.id },
    element("div", { class: "said" },
      said(row.text),
      row.marks.map((mark) => element("span", { class: "mark" }, icon(mark.icon), mark.words)),
      row.score ? score(row.score) : null,
      element("p", { class: "about" }, [row.when, row.about, row.importance === null ? "" : `importance ${row.importance}/10`]
        .filter(Boolean).join(" · ")),
      row.tags.length ? element("p", { class: "tags" }, row.tags.map((tag) => element("span", { class: "tag" }, tag))) : null,
      row.why || row.source ? element("p", { class: "why" }, row.why, row.why && row.source ? " " : "",
        row.source ? element("button", { class: "source", "data-key": `${row.id}-source`,
          "aria-label": `Where it comes from: ${row.source}`, onclick: () => send("source", { id: row.id }) },
        icon("format_quote"), row.source) : null) : null),
    acts);
}

// A long text shows how it begins; the rest is there when it is asked for.
function said(text) {
  if (text.length <= LONG) return element("p", { class: "text" }, text);
  const begin = text.slice(0, LONG).replace(/\s+\S*$/, "");
  return element("div", { class: "text" }, `${begin} `,
    element("details", { class: "rest" }, element("summary", {}, element("span", { class: "more" }, "… more"),
      element("span", { class: "less" }, "less")), element("span", {}, text.slice(begin.length).trimStart())));
}

function tool(row, { name, icon: symbol, label, pressed }, send) {
  return element("button", { class: `tool ${name}`, title: label, "aria-label": `${label}: ${clip(row.text, 60)}`,
    "aria-pressed": pressed === null ? null : String(pressed), "data-key": `${row.id}-${name}`,
    onclick: (event) => {
      if (pressed !== null) event.currentTarget.closest(".memories").dataset.pressed = `${row.id}-${name}`;
      send(name, { id: row.id, pressed: !pressed });
    } }, icon(symbol));
}

function score(found) {
  const fill = element("span", {});
  fill.style.width = `${Math.round(found.share * 100)}%`;
  return element("p", { class: "score", title: found.parts },
    element("span", { class: "value" }, found.value),
    element("span", { class: "bar", "aria-hidden": "true" }, fill),
    element("span", { class: "parts" }, found.parts));
}

const clip = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
