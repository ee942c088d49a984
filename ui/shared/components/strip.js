// The strip that is always in view: ship's time, the time since the start, the CO2, and the alarms.

export default function (component) {
  const { data, parentElement } = component;
  mounted(parentElement, "strip", data, (root) => {
    const open = root.querySelector("details")?.open;
    root.replaceChildren(figures(data), alarms(data, open));
  });
}

function figures(data) {
  const made = [
    figure("Ship’s time", data.clock),
    figure("Since the start", data.elapsed, `par ${data.par}`, data.late ? "late" : ""),
    figure("CO2", `${data.co2.value} ${data.co2.unit}`, data.co2.within ? data.co2.limits : "OUT OF LIMITS",
      data.co2.within ? "co2" : "co2 bad"),
  ];
  return element("dl", { class: "figures" }, made.filter(Boolean));
}

function figure(label, value, note = "", kind = "") {
  return element("div", { class: `figure ${kind}` }, element("dt", {}, label),
    element("dd", {}, element("span", { class: "value" }, value), note ? element("span", { class: "note" }, note) : null));
}

function alarms(data, open) {
  const count = data.alarms.length;
  if (!count) return element("div", { class: "banner calm", role: "status" }, icon("check_circle"), "No alarm is active");
  const warnings = data.alarms.filter((alarm) => alarm.warning).length;
  const [first] = data.alarms;
  const rest = count > 1 ? `and ${count - 1} more` : "";
  return element("details", { class: `banner ${warnings ? "warning" : "caution"}`, open },
    element("summary", {}, icon(warnings ? "error" : "warning"),
      element("span", { class: "kind" }, first.warning ? "WARNING" : "CAUTION"),
      element("span", { class: "what" }, `${first.code} ${first.title}`), element("span", { class: "rest" }, rest)),
    element("ul", {}, data.alarms.map((alarm) => element("li", { class: alarm.warning ? "warning" : "caution" },
      element("span", { class: "code" }, alarm.code), element("span", {}, `${alarm.title}: ${alarm.text}`),
      alarm.procedure ? element("span", { class: "procedure" }, alarm.procedure) : null))));
}
