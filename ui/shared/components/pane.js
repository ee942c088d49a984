// The evidence pane: the cited section with the cited sentence marked and scrolled into view.

export default function (component) {
  const { data, parentElement } = component;
  const send = sender(component);
  const step = walker(parentElement, data, send);
  mounted(parentElement, "pane", data, (root) => withFocus(root, () => render(root, data, send, step)));
  return onKeys(parentElement, (event) => {
    if (event.defaultPrevented || (typing(event) && event.key !== "Escape") || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape" && !data.working) send("close", {});
    else if (event.key === "ArrowRight" && data.count > 1) step(1);
    else if (event.key === "ArrowLeft" && data.count > 1) step(-1);
    else return;
    event.preventDefault();
  });
}

// Steps on from the position of earlier key presses, even if the page has not drawn these yet.
function walker(parent, data, send) {
  const from = (parent.ahead || []).lastIndexOf(data.position);
  parent.ahead = from < 0 ? [data.position] : parent.ahead.slice(from);
  return (by) => {
    const position = ((parent.ahead.at(-1) - 1 + by + data.count) % data.count) + 1;
    parent.ahead.push(position);
    send("step", { position });
  };
}

// A new pane takes the focus. A redrawn pane that had it focuses the same button, else itself.
function withFocus(root, draw) {
  const opened = !root.firstChild;
  const focused = opened ? null : root.getRootNode().activeElement;
  const label = focused?.getAttribute("aria-label");
  draw();
  if (!opened && !focused) return;
  const same = label && [...root.querySelectorAll("button:not([disabled])")].find((node) => node.getAttribute("aria-label") === label);
  (same || root.querySelector(".sheet")).focus({ preventScroll: true });
}

function render(root, data, send, step) {
  const scroller = element("div", { class: "scroller", tabindex: "0" });
  insert(scroller, data.html);
  const place = element("div", { class: "place" });
  insert(place, data.place);
  root.replaceChildren(
    element("div", { class: "backdrop", onclick: () => send("close", {}) }),
    element("aside", { class: "sheet", tabindex: "-1", "aria-label": "Evidence" }, head(data, send, step), place, scroller, foot(data, send)),
  );
  const cited = scroller.querySelector("mark.answer") || scroller.querySelector("mark");
  requestAnimationFrame(() => {
    if (!cited) return;
    const middle = cited.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    scroller.scrollTop += Math.max(0, middle - scroller.clientHeight / 3);
  });
}

function head(data, send, step) {
  const tool = (symbol, label, act, off) => element("button", {
    class: "tool", title: label, "aria-label": label, disabled: off, onclick: act }, icon(symbol));
  return element("header", { class: "head" },
    element("span", { class: "number" }, data.label),
    element("span", { class: "of" }, `${data.position} of ${data.count}`),
    tool("arrow_back", "Previous source (left arrow)", () => step(-1), data.count < 2),
    tool("arrow_forward", "Next source (right arrow)", () => step(1), data.count < 2),
    tool("close", "Close (Esc)", () => send("close", {}), false));
}

function foot(data, send) {
  if (!data.can_open) return element("footer", { class: "foot" });
  return element("footer", { class: "foot" },
    element("button", { class: "tool", onclick: () => send("whole", { whole: !data.whole }) },
      icon(data.whole ? "unfold_less" : "unfold_more"), data.whole ? "Show the section only" : "Open the whole file"),
    element("span", { class: "lines" }, data.lines));
}
