// One turn of a conversation: the question, and the answer with chips in its sentences.

export default function (component) {
  const { data, parentElement } = component;
  const send = sender(component);
  const root = mounted(parentElement, "turn", { html: data.html, commands: data.commands }, (node) => {
    const open = [...node.querySelectorAll("details[open]")].map((fold) => fold.dataset.fold);
    insert(node, data.html);
    for (const fold of node.querySelectorAll("details")) if (open.includes(fold.dataset.fold)) fold.open = true;
    offerCommands(node, data.commands);
    for (const chip of node.querySelectorAll(".chip")) keepTogether(chip);
    node.append(element("div", { class: "tip", role: "tooltip", id: "tip", hidden: true }));
  });
  acting(root, send);
  if (!root.tips) {
    root.tips = true;
    for (const name of ["mouseover", "focusin"]) root.addEventListener(name, (event) => tip(root, event.target.closest(".chip, .unsupported")));
    for (const name of ["mouseleave", "focusout"]) root.addEventListener(name, () => tip(root, null));
  }
  showOpen(root, parentElement, data.open);
  return onKeys(parentElement, (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || !root.querySelector("[data-act=stop]:not([disabled])")) return;
    event.preventDefault();
    send("act", { act: "stop" });
  });
}

// Marks the chip of the passage that the evidence pane shows, and focuses it when the pane closes.
function showOpen(root, parent, open) {
  const before = parent.opened;
  parent.opened = open;
  for (const node of root.querySelectorAll("[data-act=open]")) {
    const is = open && node.dataset.kind === open.kind && Number(node.dataset.marker) === open.marker;
    node.classList.toggle("open", Boolean(is));
    node.setAttribute("aria-pressed", String(Boolean(is)));
    if (is) for (let fold = node.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  }
  if (!before || open || /^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName)) return;
  const opener = root.querySelector(`[data-act=open][data-kind="${before.kind}"][data-marker="${before.marker}"]`);
  opener?.focus({ preventScroll: true });
  tip(root, null);
}

// Turns console commands in an answer into buttons: a click only puts the command on the console's line.
function offerCommands(root, commands) {
  for (const code of commands.length ? root.querySelectorAll("code") : []) {
    const line = code.textContent.trim();
    if (code.closest("button, a") || !commands.some((name) => `${line} `.toLowerCase().startsWith(`${name} `))) continue;
    const button = element("button", { class: "command", title: "Put it on the console’s line", "data-act": "command", "data-line": line });
    code.replaceWith(button);
    button.append(code);
  }
}

// Keeps a chip on one line with the word before it and the punctuation after it.
function keepTogether(chip) {
  const hold = element("span", { class: "together" });
  const before = chip.previousSibling;
  chip.replaceWith(hold);
  if (before?.nodeType === Node.TEXT_NODE) {
    const word = before.data.match(/\S{0,24}\s?$/)[0];
    before.data = before.data.slice(0, before.data.length - word.length);
    hold.append(word.replace(/\s$/, "\u00a0"));
  }
  hold.append(chip);
  const after = hold.nextSibling;
  if (after?.nodeType === Node.TEXT_NODE && /^[.,;:!?)]/.test(after.data)) {
    hold.append(after.data[0]);
    after.data = after.data.slice(1);
  }
}

// Shows a tooltip for a chip or an unsupported sentence while that is hovered or focused.
function tip(root, node) {
  const box = root.querySelector(".tip");
  box.hidden = !node?.dataset.tip;
  if (box.hidden) return;
  node.setAttribute("aria-describedby", "tip");
  const { tip: said, where, doubt } = node.dataset;
  box.replaceChildren(element("span", { class: "said" }, said), where ? element("span", { class: "where" }, where) : "",
    doubt ? element("span", { class: "doubt" }, doubt) : "");
  const around = root.getBoundingClientRect();
  const at = node.getBoundingClientRect();
  const width = Math.min(360, around.width);
  box.style.width = `${width}px`;
  box.style.left = `${Math.max(0, Math.min(at.left - around.left - 24, around.width - width))}px`;
  const above = at.top > box.offsetHeight + 80;
  box.style.top = above ? `${at.top - around.top - box.offsetHeight - 8}px` : `${at.bottom - around.top + 8}px`;
}
