// The steps of an answer from left to right: a box for each, with its count and its time.

export default function (component) {
  const { data, parentElement } = component;
  mounted(parentElement, "flow", data, (root) => {
    root.replaceChildren(element("ol", { class: "steps", tabindex: "0", "aria-label": "Steps of this answer" },
      data.steps.map(box)));
  });
}

function box(step) {
  return element("li", { class: `step ${step.status}`, title: step.detail || null },
    element("span", { class: "name" }, step.label),
    element("span", { class: "count" }, step.count),
    element("span", { class: "bar", "aria-hidden": "true" }, share(step)),
    element("span", { class: "ms" }, step.time));
}

function share(step) {
  const fill = element("span", {});
  fill.style.width = `${Math.max(2, Math.round(step.share * 100))}%`;
  return fill;
}
