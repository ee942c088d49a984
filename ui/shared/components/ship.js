// The ship at a glance: systems with their statuses, subsystems indented, and quantities as bars with limits.

const SIGNS = { NOMINAL: "check_circle", MALFUNC: "warning", OFFLINE: "power_settings_new" };

export default function (component) {
  const { data, parentElement } = component;
  mounted(parentElement, "ship", data, (root) => root.replaceChildren(
    element("section", { "aria-label": "Systems", tabindex: "0" }, element("h2", {}, "Systems"),
      element("ul", { class: "systems" }, data.systems.map(system))),
    element("section", { "aria-label": "Quantities" }, element("h2", {}, "Quantities"),
      element("div", { class: "gauges" }, data.gauges.map(gauge)))));
}

function system(row) {
  return element("li", { class: `system inner-${row.depth}` },
    element("span", { class: "id" }, row.id), element("span", { class: "name" }, row.name),
    element("span", { class: `status ${row.status}` }, icon(SIGNS[row.status]), row.status));
}

function gauge(row) {
  const word = row.at === null ? "nothing is sent" : row.within ? "" : "OUT OF LIMITS";
  return element("div", { class: `gauge${row.within ? "" : " beyond"}`, title: `${row.part} ${row.key}, ${row.limits}` },
    element("div", { class: "words" }, element("span", { class: "label" }, row.label),
      element("span", { class: "value" }, `${row.value} ${row.unit}`)),
    bar(row), word ? element("div", { class: "word" }, word) : null);
}

function bar(row) {
  const made = element("div", { class: "bar", role: "img", "aria-label": `${row.label} ${row.value} ${row.unit}, ${row.limits}` });
  const safe = element("span", { class: "safe" });
  safe.style.left = `${row.from}%`;
  safe.style.width = `${row.to - row.from}%`;
  made.append(safe);
  if (row.at === null) return made;
  const needle = element("span", { class: "needle" });
  needle.style.left = `${row.at}%`;
  made.append(needle);
  return made;
}
