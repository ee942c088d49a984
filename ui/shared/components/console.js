// The console of the ship: all output so far, and an input line. Commands are sent one at a time, and again
// until the server acknowledges them; commands typed in the meantime wait.

const RESEND_MS = 5000;
let filled = 0; // the number of the command that was put on the input line last

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const state = (parentElement.console ??= { waiting: [], sent: null, at: null, draft: "", level: data.level });
  state.data = data;
  state.send = (entry) => setTriggerValue("command", entry);
  if (!state.root) make(parentElement, state);
  show(state);
  fill(state);
  next(state);
  return () => clearTimeout(state.timer);
}

function make(parent, state) {
  state.output = element("div", { class: "output", role: "log", "aria-live": "polite", tabindex: "0",
    "aria-label": "Console output" });
  state.input = element("input", { class: "input", type: "text", autocomplete: "off", autocapitalize: "off",
    autocorrect: "off", spellcheck: "false", enterkeyhint: "send", maxlength: "500", "aria-label": "Command",
    onkeydown: (event) => pressed(event, state), oninput: () => offer(state, []) });
  state.prompt = element("span", { class: "prompt", "aria-hidden": "true" });
  state.offers = element("div", { class: "offers", role: "status" });
  const enter = element("button", { class: "enter", type: "button", "aria-label": "Run the command",
    onclick: () => { submit(state); state.input.focus(); } }, icon("keyboard_return"));
  state.line = element("div", { class: "line" }, state.prompt, state.input, enter);
  state.root = element("div", { class: "console", onclick: (event) => {
    const picked = parent.getRootNode().getSelection?.() ?? document.getSelection();
    if (String(picked) === "" && !event.target.closest("button")) state.input.focus({ preventScroll: true });
  } }, state.output, state.offers, state.line);
  parent.append(state.root);
  if (matchMedia("(hover: hover)").matches) state.input.focus({ preventScroll: true });
}

function show(state) {
  const { data, output } = state;
  if (state.level !== data.level) Object.assign(state, { level: data.level, waiting: [], sent: null, at: null });
  if (state.sent && data.acknowledged >= state.sent.seq) state.sent = null;
  const written = JSON.stringify([data.intro, data.lines, data.over, state.sent, state.waiting]);
  if (written === state.written) return;
  state.written = written;
  const echo = [state.sent, ...state.waiting].filter(Boolean).map((entry) =>
    element("div", { class: "row command pending" }, `${data.prompt} ${entry.line}`));
  output.replaceChildren(
    element("div", { class: "intro" }, data.intro.map((text) => element("div", { class: "row" }, text || "\u00a0"))),
    ...data.lines.map(row), ...echo);
  state.prompt.textContent = data.prompt;
  state.input.disabled = Boolean(data.over);
  state.input.placeholder = data.over || (data.lines.length ? "" : "list systems");
  state.line.classList.toggle("over", Boolean(data.over));
  output.scrollTop = data.lines.length ? output.scrollHeight : 0; // a story is read from its beginning
}

function row(line) {
  const parts = [];
  let at = 0;
  for (const [start, end, kind] of line.spans) {
    parts.push(line.text.slice(at, start), element("span", { class: `is ${kind}` }, line.text.slice(start, end)));
    at = end;
  }
  parts.push(line.text.slice(at));
  const columns = line.text.includes("  ") ? "columns" : "";
  return element("div", { class: `row ${line.kind} ${columns}` }, parts.every((part) => part === "") ? "\u00a0" : parts);
}

// -- typing ------------------------------------------------------------------------------------------------

function pressed(event, state) {
  if (event.isComposing) return;
  if (event.key === "Enter") submit(state);
  else if (event.key === "ArrowUp") recall(state, -1);
  else if (event.key === "ArrowDown") recall(state, 1);
  else if (event.key === "Tab" && !event.shiftKey && state.input.value.trim()) complete(state);
  else if (event.key === "Escape" && state.offers.childNodes.length) offer(state, []);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

// Puts a command that was clicked in an answer on the input line, once; it is not run.
function fill(state) {
  const { number, line } = state.data.fill;
  if (number <= filled || state.data.over) return;
  filled = number;
  state.input.value = line;
  offer(state, []);
  state.input.focus({ preventScroll: true });
}

function submit(state) {
  const line = state.input.value.trim();
  if (!line || state.data.over) return;
  state.number = Math.max(Date.now(), (state.number || 0) + 1);
  state.waiting.push({ line, seq: state.number, level: state.data.level });
  state.input.value = "";
  state.at = null;
  offer(state, []);
  next(state);
  show(state);
}

function next(state) {
  clearTimeout(state.timer);
  if (!state.sent) {
    if (!state.waiting.length) return;
    state.sent = state.waiting.shift();
    state.send(state.sent);
  }
  state.timer = setTimeout(() => {
    if (!state.sent) return;
    state.send({ ...state.sent, again: Date.now() });
    next(state);
  }, RESEND_MS);
}

function recall(state, by) {
  const past = [...state.data.history, ...[state.sent, ...state.waiting].filter(Boolean).map((entry) => entry.line)];
  if (!past.length) return;
  if (state.at === null) {
    if (by > 0) return;
    state.draft = state.input.value;
    state.at = past.length;
  }
  state.at = Math.max(0, Math.min(past.length, state.at + by));
  state.input.value = state.at === past.length ? state.draft : past[state.at];
  if (state.at === past.length) state.at = null;
  state.input.setSelectionRange(state.input.value.length, state.input.value.length);
}

function complete(state) {
  const words = state.input.value.split(" ");
  const word = words.pop();
  const before = words.filter(Boolean);
  const fitting = candidates(state.data.completions, before)
    .filter((option) => option.toLowerCase().startsWith(word.toLowerCase()))
    .filter((option) => !(option.startsWith("--") && before.includes(option)));
  if (!fitting.length) {
    offer(state, [], word ? `Nothing begins with ${word} here.` : "Nothing more to complete.");
    return;
  }
  const shared = fitting.length === 1 ? `${fitting[0]} ` : common(fitting, word);
  state.input.value = [...before, shared].join(" ");
  offer(state, fitting.length === 1 ? [] : fitting);
}

// Filters of `list parts` can be combined: only the words after the last complete filter count.
function candidates(completions, before) {
  const key = (words) => words.join(" ").toLowerCase();
  if (key(before.slice(0, 2)) === "list parts" && before.length > 3) {
    return completions[key(["list", "parts", ...before.slice(2 + 2 * Math.floor((before.length - 2) / 2))])] || [];
  }
  return completions[key(before)] || [];
}

function common(options, word) {
  let length = options[0].length;
  for (const option of options) {
    while (!option.toLowerCase().startsWith(options[0].slice(0, length).toLowerCase())) length -= 1;
  }
  return length > word.length ? options[0].slice(0, length) : word;
}

function offer(state, options, otherwise = "") {
  const take = (option) => {
    state.input.value = state.input.value.replace(/\S*$/, `${option} `);
    offer(state, []);
    state.input.focus();
  };
  state.offers.replaceChildren(...options.map((option) => element("button", { class: "option", type: "button",
    tabindex: "-1", onclick: () => take(option) }, option)), otherwise);
}
