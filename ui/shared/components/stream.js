// What was spoken of and when, as a line of time: the latest day first.

export default function (component) {
  const { data, parentElement } = component;
  const send = sender(component);
  const open = (id) => send("open", { id });
  mounted(parentElement, "stream", data, (root) => root.replaceChildren(
    ...data.days.map((day) => element("section", { "aria-label": day.day },
      element("h3", {}, day.day),
      element("ol", {}, day.entries.map((entry) => element("li", {},
        element("time", {}, entry.time),
        element("div", { class: "entry" },
          element("button", { class: "name", onclick: () => open(entry.id) }, entry.name),
          entry.type ? element("span", { class: "type" }, entry.type) : null,
          entry.said || entry.where ? element("p", { class: "said" }, entry.said || entry.where) : null)))))),
    data.left ? element("p", { class: "left" }, `${data.left} earlier ones are not listed.`) : ""));
}
