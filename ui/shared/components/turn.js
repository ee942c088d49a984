// One turn: the question, the answer with chips in its sentences, and one quiet line under it.

const LONG = 500; // characters of a question that may have to be scrolled

export default function (component) {
  const { data, parentElement } = component;
  const trigger = sender(component);
  const send = (name, value) => trigger(name, { ...value, turn: data.turn });
  const root = mounted(parentElement, "turn", data, (node) => {
    render(node, data, send);
    bringBack(node, parentElement.opened, data.opened);
    stayOnStep(node);
    parentElement.opened = data.opened;
  });
  root.classList.toggle("working", data.working);
  return onKeys(parentElement, (event) => {
    if (event.key === "Escape" && data.working && !data.stopping && !event.defaultPrevented) {
      event.preventDefault();
      send("stop", {});
    }
  });
}

// When the evidence pane closes, the focus goes back to what opened it, unless the reader is typing.
function bringBack(root, before, now) {
  if (!before || now || /^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName)) return;
  const opener = root.querySelector(`[data-opens="${before.kind} ${before.marker}"]`);
  if (!opener) return;
  opener.dataset.back = "";  // its tooltip stays away until it is focused again
  opener.focus({ preventScroll: true });
  delete opener.dataset.back;
}

// The focus stays on the arrow to a version once that is drawn, or goes to the other one at the end.
function stayOnStep(root) {
  if (!root.stepped) return;
  const arrow = root.querySelector(`[data-step="${root.stepped}"]:not([disabled])`) || root.querySelector("[data-step]:not([disabled])");
  delete root.stepped;
  arrow?.focus({ preventScroll: true });
}

function render(root, data, send) {
  const tip = element("div", { class: "tip", role: "tooltip", id: "tip", hidden: true });
  const hints = { tip, root };
  const body = element("div", { class: `answer ${data.kind}` });
  body.append(...answered(data, send, hints));
  for (const notice of data.notices) body.append(note("info", build(notice, {})));
  if (data.ended) body.append(note("stop_circle", data.ended));
  if (data.failure) body.append(failure(data.failure));
  const first = ["quotes", "abstained"].includes(data.kind); // no answer was written: memory comes before quotes
  offerCommands(body, data, send);
  root.replaceChildren(
    element("div", { class: "question", tabindex: data.question.length > LONG ? "0" : null },
      element("span", { class: "sr" }, "You asked: "), data.question),
    first ? recalled(data, send) : "",
    calls(data),
    data.thoughts ? fold(`${data.question} thoughts`, false, "What the model thought", element("pre", { tabindex: "0" }, data.thoughts)) : "",
    found(data),
    data.consent ? consent(data.consent, send) : "",
    body,
    ...changed(data, send),
    first ? "" : recalled(data, send),
    related(data),
    data.working ? working(data, send) : quiet(data, send),
    data.follow_ups.length ? followUps(data, send) : "",
    tip,
  );
}

// The answer to one question: what it was read as, then what was found.
function answered(data, send, hints) {
  const drawn = { quotes, abstained, reply }[data.kind] || prose;
  return [data.about ? about(data, send) : null, data.corrected ? corrected(data, send) : null,
    ...drawn(data, send, hints)].filter(Boolean);
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
  const made = element("div", {}, build(data.body, special));
  keepTogether(made);
  return [...made.childNodes];
}

// A rule's reply; the questions in it can be asked with a click.
function reply(data, send) {
  return build(data.body, { ask: asking(data, send) });
}

// Commands of the console beside the chat: a click puts one on its line, and runs nothing.
function offerCommands(node, data, send) {
  for (const code of data.commands.length ? node.querySelectorAll("code") : []) {
    const line = code.textContent.trim();
    if (code.closest("button, a") || !data.commands.some((name) => `${line} `.toLowerCase().startsWith(`${name} `))) continue;
    const button = element("button", { class: "command", title: "Put it on the console’s line", onclick: () => send("command", { line }) });
    code.replaceWith(button);
    button.append(code);
  }
}

// What asks is done once, also where it is clicked twice.
const once = (act) => (event) => { if (event.detail < 2) act(event.currentTarget); };

// Words that ask a question when they are clicked: an example, or what a quote links to.
function asking(data, send) {
  return (node, children) => element("button", {
    class: "ask", disabled: data.busy, title: node.title, onclick: once(() => send("ask", { question: node.question })),
  }, children);
}

// What an agent called before it answered: a quiet line each, that opens; on a phone all of them in one.
const folds = new Map(); // by turn and place: whether the reader has it open

function calls(data) {
  if (!data.calls.length) return "";
  const lines = data.calls.map((call, index) => fold(`${data.question} ${index}`, false,
    [icon(call.icon), element("span", { class: call.status }, call.line)], [
      call.thought ? element("p", {}, call.thought) : null,
      element("pre", { tabindex: "0" }, call.given),
      call.result ? element("pre", { tabindex: "0" }, call.result) : null,
      element("p", { class: "meta" }, call.time)]));
  const title = `${data.calls.length} ${data.calls.length === 1 ? "step" : "steps"}`;
  return fold(data.question, !matchMedia("(max-width: 640px)").matches, title, lines, "calls");
}

function fold(key, open, label, inside, kind = "call") {
  const node = element("details", { class: kind, open: folds.get(key) ?? open },
    element("summary", {}, label, icon("expand_more")), inside);
  node.addEventListener("toggle", () => folds.set(key, node.open));
  return node;
}

// The passages that were found, until the answer that is written from them is there.
function found(data) {
  if (!data.found.length) return "";
  const cards = data.found.map((one) => element("div", { class: "card" },
    element("span", { class: "crumbs" }, crumbs(one.where.split(" › "))), element("span", { class: "snippet" }, one.quote)));
  return fold(`${data.question} found`, true, "Found in the documents", element("div", { class: "cards" }, cards), "calls");
}

// A tool that may change something waits for the user's word.
function consent(asked, send) {
  const answer = (allow) => once(() => send("consent", { id: asked.id, allow }));
  return element("div", { class: "note consent", role: "alertdialog", "aria-label": "Allow this call?" }, icon("build"),
    element("div", {}, element("strong", {}, asked.tool), ` ${asked.may}`, element("pre", { tabindex: "0" }, asked.given)),
    element("button", { class: "tool stop", onclick: answer(true) }, "Allow once"),
    element("button", { class: "tool stop", onclick: answer(false) }, "Refuse"));
}

// What was recalled: memory, not documents. A reply of the memory itself has said it, and only offers to forget.
function recalled(data, send) {
  if (!data.recalled.length) return "";
  const list = element("ul", { class: "memories" }, data.recalled.map((memory) => element("li", { class: memory.forgotten ? "gone" : "" },
    memory.when ? element("span", { class: "when" }, memory.when) : null,
    memory.forgotten ? element("span", { class: "remembered" }, memory.text)
      : element("button", { class: "remembered", title: "Where it comes from", "aria-label": `Where it comes from: ${memory.text}`,
        disabled: data.busy, onclick: () => send("source", { memory: memory.id }) }, memory.when ? `“${memory.text}”` : memory.text),
    memory.forgotten ? null : element("button", { class: "tool forget", disabled: data.busy, title: "Forget this memory",
      "aria-label": `Forget: ${memory.text}`, onclick: () => send("forget", { memory: memory.id }) }, "Forget"))));
  const label = [icon("psychology"), data.of_memory ? "Change what is remembered" : "From memory, not from the documents"];
  if (!data.of_memory) {
    return element("section", { class: "recalled", "aria-label": "From memory" }, element("p", { class: "label" }, label), list);
  }
  return element("details", { class: "recalled" }, element("summary", { class: "label" }, label, icon("expand_more")), list);
}

// How what the question names relates to other things: of the graph, and no evidence.
function related(data) {
  if (!data.related.length) return "";
  const label = element("p", { class: "label" }, icon("psychology"), "How it relates, from memory");
  const list = element("ul", { class: "memories" }, data.related.map((text) => element("li", {}, element("span", { class: "remembered" }, text))));
  return element("section", { class: "recalled", "aria-label": "How it relates" }, label, list);
}

// What a fact of this turn took the place of, with the way back.
function changed(data, send) {
  return data.changed.map((fact) => {
    const act = element("button", { class: "tool", disabled: data.busy, onclick: once(() => send("undo", { memory: fact.id })) },
      icon("undo"), "Undo");
    return element("div", { class: "note changed" }, icon("history"), element("div", {}, story(fact, data.of_memory)),
      fact.undone ? null : act);
  });
}

// A reply of the memory itself has told what was replaced, and only asks.
function story(fact, told) {
  const others = fact.others.join("; ");
  if (fact.undone) return `Undone; this holds again: ${others}`;
  if (told) return "Not what you meant?";
  return `Remembered: ${fact.text}. Instead of: ${others}`;
}

// What was said before and was searched for with the question, and the way to ask without it.
function about(data, send) {
  return element("p", { class: "corrected about" }, "About “", element("em", {}, data.about), "”. ",
    element("button", {
      class: "verbatim", disabled: data.busy, onclick: once(() => send("ask", { question: data.question, alone: true })),
    }, "Ask without it"), ".");
}

// What was searched for instead of what was typed, and the way back.
function corrected(data, send) {
  const { shown, typed } = data.corrected;
  return element("p", { class: "corrected" }, "Showing results for ", element("strong", {}, shown),
    ". Search for ", element("button", {
      class: "verbatim", disabled: data.busy, onclick: once(() => send("ask", { question: typed, verbatim: true })),
    }, element("em", {}, typed)), " instead.");
}

// What a reader has unfolded, by turn: kept while the page is open, through every new drawing of it.
const unfolded = new Map();

function unfoldedIn(turn) {
  if (!unfolded.has(turn)) unfolded.set(turn, new Set());
  return unfolded.get(turn);
}

function quotes(data, send, hints) {
  const shown = groups(data.groups, data, send, hints);
  const heading = data.heading ? element("p", { class: "verdict maybe" }, icon("help"), data.heading) : null;
  const parts = data.folded.length ? [...shown, ...passages(data, send, hints)] : shown;
  return heading ? [heading, element("div", { class: "closest" }, parts)] : parts;
}

function groups(found, data, send, hints) {
  return found.map((group) => element("section", { class: "group" },
    element("div", { class: "crumbs" }, crumbs([group.source, ...group.path])),
    group.quotes.map((quote) => quoted(quote, data, send, hints))));
}

// The passages behind a button; one of them that is open in the evidence pane unfolds them.
function passages(data, send, hints) {
  const kept = unfoldedIn(data.turn);
  const id = "folded";
  if (data.folded.some((group) => group.quotes.some((quote) => quote.marker === data.open))) kept.add(id);
  const rest = element("div", { class: "folded", id, hidden: !kept.has(id) },
    groups(data.folded, data, send, hints));
  const button = element("button", {
    class: "tool disclose", "aria-expanded": String(kept.has(id)), "aria-controls": id,
    onclick: () => {
      const open = !kept.delete(id);
      if (open) kept.add(id);
      rest.hidden = !open;
      button.setAttribute("aria-expanded", String(open));
    },
  }, icon("chevron_right"), data.folded_label);
  return [button, rest];
}

// One quote; a line that says what is left out shows the whole, and takes it back.
function quoted(quote, data, send, hints) {
  const kept = unfoldedIn(data.turn);
  const made = element("blockquote", { class: `quote ${quote.kind || ""}` });
  const draw = () => {
    const whole = kept.has(quote.marker);
    const more = (node, children) => (quote.whole.length ? turner(children, true) : left(children));
    made.replaceChildren(...build(whole ? quote.whole : quote.tree, { more, ask: asking(data, send) }));
    placeChip(made, chip(quote.marker, data, send, hints));
    if (whole) made.append(turner(["Show less"], false));
    offerCommands(made, data, send);
    keepTogether(made);
  };
  const turner = (children, whole) => element("button", {
    class: "more", "aria-expanded": String(!whole), onclick: () => turnOver(whole),
  }, children);
  const turnOver = (whole) => {
    const before = anchor(made).getBoundingClientRect().top;
    if (whole) kept.add(quote.marker);
    else kept.delete(quote.marker);
    draw();
    made.querySelector("button.more")?.focus({ preventScroll: true });
    scrolled(made, anchor(made).getBoundingClientRect().top - before);
  };
  draw();
  return made;
}

const left = (children) => element("span", { class: "more" }, children);

// What stays where it is while a quote grows or shrinks: the part that answers.
function anchor(made) {
  return made.querySelector("mark.answer, tr.answers") || made;
}

function scrolled(node, by) {
  let box = node.getRootNode().host || node;
  while (box && !(box.scrollHeight > box.clientHeight && /auto|scroll/.test(getComputedStyle(box).overflowY))) {
    box = box.parentElement;
  }
  if (box) box.scrollTop += by;
}

// A chip follows what answers; without a mark it ends the last line.
function placeChip(made, chip) {
  const answers = [...made.querySelectorAll("mark.answer, tr.answers")].at(-1);
  const inCode = answers?.closest("pre");
  if (!answers || inCode) {
    innermost(made).append(" ", chip);
  } else if (answers.tagName === "TR") {
    answers.lastElementChild.append(" ", chip);
  } else {
    let inline = answers;
    while (/^(EM|STRONG|S|CODE|A|SPAN)$/.test(inline.parentElement.tagName)) inline = inline.parentElement;
    inline.after("\u2060", chip);
  }
}

// The last line of a quote: the end of its last paragraph, list item or row, or what introduces its code.
function innermost(node) {
  const last = [...node.children].filter((child) => !child.matches(".more, .left-out")).at(-1);
  if (!last) return node;
  if (last.tagName === "PRE" && last.previousElementSibling?.tagName === "P") return last.previousElementSibling;
  if (last.classList.contains("scroll")) return innermost(last.firstElementChild);
  return /^(P|UL|OL|LI|TABLE|TBODY|TR|TD)$/.test(last.tagName) ? innermost(last) : node;
}

function abstained(data, send) {
  return [
    element("p", { class: "verdict" }, icon("search_off"), element("strong", {}, data.missing)),
    element("p", {}, "I looked for “", element("em", {}, data.looked_for),
      "” and found no passage that answers it. ", data.otherwise),
    data.nearest.length ? element("p", { class: "label" }, "The nearest sections") : null,
    element("div", { class: "cards" }, data.nearest.map((near) => element("button", {
      class: "card", "data-opens": `nearest ${near.index}`, onclick: () => send("open", { kind: "nearest", marker: near.index }),
    }, element("span", { class: "crumbs" }, crumbs(near.where.split(" › "))),
    element("span", { class: "snippet" }, near.quote)))),
  ].filter(Boolean);
}

// A chip never stands alone on the next line: the word before it and the full stop after it stay with it.
function keepTogether(root) {
  root.normalize(); // the space before a chip was a node of its own
  for (const made of root.querySelectorAll(".chip")) {
    const before = made.previousSibling;
    const word = before?.nodeType === Node.TEXT_NODE ? before.data.match(/(\S{1,24})( ?)$/) : null;
    const id = before?.nodeType === Node.ELEMENT_NODE && before.matches("span.short") ? before : null;
    const glued = before?.nodeType === Node.ELEMENT_NODE && before.classList.contains("together");
    const hold = glued ? before : element("span", { class: "together" });
    if (!glued) made.replaceWith(hold);
    if (word) {
      before.data = before.data.slice(0, -word[0].length);
      hold.append(word[1], word[2] ? "\u00a0" : "");
    }
    if (id) hold.append(id);
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
    class: `chip${open ? " open" : ""}${citation.verified ? "" : " doubtful"}`, "data-opens": `citation ${number}`,
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
    if ("back" in node.dataset) return;
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

function note(symbol, content) {
  return element("div", { class: "note" }, icon(symbol), element("div", {}, content));
}

function failure({ message, fix }) {
  return element("div", { class: "failure", role: "alert" }, icon("error"),
    element("div", {}, element("strong", {}, withCode(message)), fix ? element("p", {}, withCode(fix)) : null));
}

// Words in backticks as code.
function withCode(text) {
  return text.split(/`([^`\n]+)`/).map((part, index) => (index % 2 ? element("code", {}, part) : part));
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
    data.meta.length ? element("span", { class: "meta" }, data.meta.join(" · ")) : null);
  if (data.inspectable) {
    line.append(element("button", { class: "tool how", onclick: () => send("inspect", {}) },
      icon("account_tree"), "How was this found?"));
  }
  const acts = [data.versions > 1 ? versions(data, send) : null, data.turn ? tools(data, send) : null, data.rated ? thumbs(data, send) : null].filter(Boolean);
  if (acts.length) line.append(element("span", { class: "acts" }, acts));  // on one line, or on the next together
  return line;
}

// What the documents answer beside and below what is cited.
function followUps(data, send) {
  return element("div", { class: "next", role: "group", "aria-label": "Ask next" }, data.follow_ups.map((question) => element("button", {
    class: "card", disabled: data.busy, onclick: once(() => send("ask", { question })) }, element("span", {}, question))));
}

// How many answers the question has, with the ways to the others, which stand in a circle.
function versions(data, send) {
  const step = (by, version, symbol, label) => element("button", {
    class: "tool", title: label, "aria-label": label, disabled: data.busy, "data-step": by,
    onclick: once((button) => {
      button.closest(".turn").stepped = by;
      send("version", { version });
    }),
  }, icon(symbol));
  return element("span", { class: "versions", role: "group", "aria-label": "Versions" },
    step(-1, data.versions - 2, "chevron_left", "Previous version"),
    element("span", {}, `${data.versions} answers`),
    step(1, 0, "chevron_right", "Next version"));
}

// What can be done with an answer and its question.
function tools(data, send) {
  const tool = (symbol, label, act, off) => element("button", {
    class: "tool", title: label, "aria-label": label, disabled: off, onclick: once(act),
  }, icon(symbol));
  return element("span", { class: "tools" },
    data.markdown ? tool("content_copy", "Copy with its sources", (button) => copy(data.markdown, button)) : null,
    data.link ? tool("link", "Copy a link to this answer", (button) => copy(address(data.link), button)) : null,
    tool("refresh", "Ask again", () => send("instead", { question: data.question }), data.busy),
    tool("edit", "Edit the question", (button) => edit(button, data, send), data.busy));
}

// The chat's address with a conversation and an answer, for the user of this page.
function address(link) {
  const made = new URL("./", window.location.href);
  const user = new URL(window.location.href).searchParams.get("u");
  made.search = new URLSearchParams(user ? { ...link, u: user } : link).toString();
  return made.href;
}

async function copy(text, button) {
  const done = await written(text);
  const symbol = button.querySelector(".icon");
  const before = symbol.textContent;
  symbol.textContent = done ? "check" : "error";
  button.setAttribute("data-done", String(done));
  setTimeout(() => { symbol.textContent = before; }, 2000);
}

// The clipboard, also where the page came by plain HTTP and has only the old way.
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

// The question as a field; another question begins the conversation anew from there.
function edit(button, data, send) {
  const question = button.getRootNode().querySelector(".question");
  if (question.hidden) return;
  const field = element("textarea", { class: "word", rows: "3", maxlength: "4000", "aria-label": "Your question" });
  field.value = data.question;
  const close = () => { form.remove(); question.hidden = false; button.focus({ preventScroll: true }); };
  const ask = () => { if (field.value.trim()) send("instead", { question: field.value }); };
  const form = element("div", { class: "editing" }, field,
    element("p", { class: "label" }, "Another question takes its place, and what follows is deleted."),
    element("button", { class: "tool", onclick: close }, "Cancel"),
    element("button", { class: "tool stop", onclick: once(ask) }, "Ask"));
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && !event.shiftKey && event.target === field) ask();
    else return;
    event.preventDefault();
  });
  question.hidden = true;
  question.after(form);
  field.focus({ preventScroll: true });
  form.scrollIntoView({ block: "nearest" });  // with its buttons
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
