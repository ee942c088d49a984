// One turn: the question, the answer with chips in its sentences, and one quiet line under it.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const send = (name, value) => setTriggerValue(name, { ...value, turn: data.turn, at: Date.now() });
  const root = mounted(parentElement, "turn", data, (node) => render(node, data, send));
  root.classList.toggle("working", data.working);
  return onKeys(parentElement, (event) => {
    if (event.key === "Escape" && data.working && !data.stopping && !event.defaultPrevented) {
      event.preventDefault();
      send("stop", {});
    }
  });
}

function render(root, data, send) {
  const tip = element("div", { class: "tip", role: "tooltip", id: "tip", hidden: true });
  const hints = { tip, root };
  const body = element("div", { class: `answer ${data.kind}` });
  if (data.kind === "quotes") body.append(...quotes(data, send, hints));
  else if (data.kind === "abstained") body.append(...abstained(data, send));
  else body.append(...prose(data, send, hints));
  keepTogether(body);
  for (const notice of data.notices) body.append(note("info", notice));
  if (data.ended) body.append(note("stop_circle", data.ended));
  if (data.failure) body.append(failure(data.failure));
  root.replaceChildren(
    element("div", { class: "question" }, element("span", { class: "sr" }, "You asked: "), data.question),
    body,
    data.working ? working(data, send) : quiet(data, send),
    tip,
  );
}

function prose(data, send, hints) {
  const special = {
    chip: (node) => chip(node.n, data, send, hints),
    unsupported: (node, children) => {
      const text = (data.support[node.n] || {}).text;
      const made = element("span", { class: "unsupported", tabindex: "0" }, children);
      hint(made, hints, () => [element("strong", {}, "Not supported"), text]);
      return made;
    },
  };
  return build(data.body, special);
}

function quotes(data, send, hints) {
  return data.groups.map((group) => element("section", { class: "group" },
    element("div", { class: "crumbs" }, crumbs([group.source, ...group.path])),
    group.quotes.map((quote) => {
      const made = element("blockquote", { class: "quote" }, build(quote.tree, {}));
      innermost(made).append(" ", chip(quote.marker, data, send, hints));
      return made;
    })));
}

// The last line of a quote: a chip goes to the end of its last paragraph or list item.
function innermost(node) {
  const last = node.lastElementChild;
  return last && /^(P|UL|OL|LI)$/.test(last.tagName) ? innermost(last) : node;
}

function abstained(data, send) {
  return [
    element("p", { class: "verdict" }, icon("search_off"), element("strong", {}, "Not in the manuals")),
    element("p", {}, "I looked for “", element("em", {}, data.looked_for),
      "” and found no passage that answers it. ", data.otherwise),
    data.nearest.length ? element("p", { class: "label" }, "The nearest sections") : null,
    element("div", { class: "cards" }, data.nearest.map((near) => element("button", {
      class: "card", onclick: () => send("open", { kind: "nearest", marker: near.index }),
    }, element("span", { class: "crumbs" }, crumbs(near.where.split(" › "))),
    element("span", { class: "snippet" }, near.quote)))),
  ].filter(Boolean);
}

// A chip never stands alone on the next line: the word before it and the full stop after it stay with it.
function keepTogether(root) {
  for (const made of root.querySelectorAll(".chip")) {
    const before = made.previousSibling;
    const word = before?.nodeType === Node.TEXT_NODE ? before.data.match(/(\S{1,24})( ?)$/) : null;
    const glued = before?.nodeType === Node.ELEMENT_NODE && before.classList.contains("together");
    const hold = glued ? before : element("span", { class: "together" });
    if (!glued) made.replaceWith(hold);
    if (word) {
      before.data = before.data.slice(0, -word[0].length);
      hold.append(word[1], word[2] ? "\u00a0" : "");
    }
    hold.append(made);
    const after = hold.nextSibling;
    if (after?.nodeType === Node.TEXT_NODE && /^[.,;:!?)]/.test(after.data)) {
      hold.append(after.data[0]);
      after.data = after.data.slice(1);
    }
  }
}

function crumbs(parts) {
  return parts.flatMap((part, index) => [
    index ? element("span", { class: "sep", "aria-hidden": "true" }, "›") : null,
    element("span", { class: index === parts.length - 1 ? "here" : "" }, part),
  ]).filter(Boolean);
}

function chip(number, data, send, hints) {
  const citation = data.citations[String(number)];
  const open = data.open === number;
  if (!citation) return element("span", { class: "chip waiting" }, String(number));
  const made = element("button", {
    class: `chip${open ? " open" : ""}${citation.verified ? "" : " doubtful"}`,
    "aria-label": `Source ${number}: ${citation.where}${citation.verified ? "" : " (does not say so)"}`, "aria-pressed": String(open),
    onclick: () => send("open", { kind: "citation", marker: number }),
  }, String(number));
  hint(made, hints, () => [element("span", { class: "said" }, citation.quote),
    element("span", { class: "where" }, citation.where),
    ...citation.verified ? [] : [element("span", { class: "doubt" }, "It does not say what the sentence says.")]]);
  return made;
}

// Shows a tooltip next to a node while it is hovered or focused.
function hint(node, { tip, root }, content) {
  const show = () => {
    tip.replaceChildren(...content());
    tip.hidden = false;
    const box = root.getBoundingClientRect();
    const at = node.getBoundingClientRect();
    const width = Math.min(360, box.width);
    tip.style.width = `${width}px`;
    tip.style.left = `${Math.max(0, Math.min(at.left - box.left - 24, box.width - width))}px`;
    const above = at.top > tip.offsetHeight + 80;
    tip.style.top = above ? `${at.top - box.top - tip.offsetHeight - 8}px` : `${at.bottom - box.top + 8}px`;
  };
  const hide = () => { tip.hidden = true; };
  node.setAttribute("aria-describedby", "tip");
  node.addEventListener("mouseenter", show);
  node.addEventListener("focus", show);
  node.addEventListener("mouseleave", hide);
  node.addEventListener("blur", hide);
}

function note(symbol, text) {
  return element("p", { class: "note" }, icon(symbol), element("span", {}, text));
}

function failure({ message, fix }) {
  return element("div", { class: "failure", role: "alert" }, icon("error"),
    element("div", {}, element("strong", {}, message), fix ? element("p", {}, fix) : null));
}

function working(data, send) {
  return element("div", { class: "line" },
    element("span", { class: "pulse", "aria-hidden": "true" }),
    element("span", { role: "status", class: "step" }, data.step),
    element("button", { class: "tool stop", disabled: data.stopping, title: "Stop (Esc)",
      onclick: () => send("stop", {}) }, icon("stop_circle"), "Stop"));
}

function quiet(data, send) {
  const line = element("div", { class: "line" },
    element("span", { class: "meta" }, data.meta.join(" · ")));
  if (data.inspectable) {
    line.append(element("button", { class: "tool how", onclick: () => send("inspect", {}) },
      icon("account_tree"), "How was this found?"));
  }
  if (data.rated) line.append(thumbs(data, send));
  return line;
}

function thumbs(data, send) {
  const box = element("span", { class: "thumbs" });
  const thumb = (value, symbol, label) => element("button", {
    class: "tool", title: label, "aria-label": label, "aria-pressed": String(data.feedback === value),
    onclick: () => send("feedback", { value: data.feedback === value ? 0 : value, word: data.word || "" }),
  }, icon(symbol));
  box.append(thumb(1, "thumb_up", "Good answer"), thumb(-1, "thumb_down", "Bad answer"));
  if (data.feedback) {
    const word = element("input", { class: "word", type: "text", maxlength: "300", value: data.word || "",
      placeholder: "A word on why (optional)", "aria-label": "A word on why" });
    word.addEventListener("change", () => send("feedback", { value: data.feedback, word: word.value }));
    word.addEventListener("keydown", (event) => { if (event.key === "Enter") word.blur(); });
    box.append(word);
  }
  return box;
}
