// The folders and files that a conversation asks, as chips that can be removed, and a field that searches for more.
// The field is a combobox: arrows walk the matches, Enter adds one, Escape closes.

const SHOWN = 8; // matches that are listed at once

export default function (component) {
  const { data, parentElement } = component;
  const send = sender(component);
  const state = parentElement.state ||= { open: false, words: "", focus: "" };
  mounted(parentElement, "scope", data, (root) => render(root, data, state, send));
  return whenLeft(parentElement, state);
}

function render(root, data, state, send) {
  const add = element("button", {
    class: "tool add", "data-key": "add", "aria-expanded": String(state.open), "aria-haspopup": "dialog",
    title: "Ask only some folders or files",
    onclick: () => { state.open = !state.open; if (state.open) send("browse", {}); draw(true); },
  }, icon("filter_alt"), data.chips.length ? "Add …" : "Only …");
  const panel = element("div", { class: "panel", role: "dialog", "aria-label": "Ask only some folders or files" });
  const draw = (focus) => {
    add.setAttribute("aria-expanded", String(state.open));
    panel.hidden = !state.open;
    if (!state.open) { if (focus) add.focus(); return; }
    if (!panel.childElementCount) panel.append(...picker(data, state, send, close));
    if (focus) panel.querySelector("input").focus();
  };
  const close = () => { state.open = false; draw(true); };
  root.close = () => { state.open = false; draw(false); };
  const several = data.chips.length > 1 || data.note;
  root.replaceChildren(
    data.note ? element("p", { class: "note", role: "status" }, icon("error"), data.note) : "",
    element("div", { class: "bar", role: "group", "aria-label": "Documents that are asked" },
      data.chips.length ? element("span", { class: "label" }, "Only in") : "",
      data.chips.map((chip, index) => chipOf(chip, index, state, send)),
      add,
      several ? element("button", { class: "tool", onclick: () => { state.focus = "add"; send("change", { clear: true }); } }, "Clear") : ""),
    panel);
  draw(state.open);
  if (state.focus) {
    [...root.querySelectorAll("[data-key]")].find((node) => node.dataset.key === state.focus)?.focus();
    state.focus = "";
  }
}

function chipOf(chip, index, state, send) {
  const gone = chip.gone ? "No document that is indexed is there" : "";
  return element("span", { class: `chip${chip.gone ? " gone" : ""}`, title: gone || chip.name },
    chip.gone ? icon("error") : "",
    element("span", { class: "name" }, chip.name),
    gone ? element("span", { class: "sr" }, ` (${gone})`) : "",
    element("button", { class: "remove", "data-key": `remove-${index}`, "aria-label": `Remove ${chip.name}`, title: "Remove",
      onclick: () => { state.focus = index ? `remove-${index - 1}` : "add"; send("change", { remove: chip.glob }); },
    }, icon("close")));
}

// The field, its matches and what is to be known of them.
function picker(data, state, send, close) {
  const list = element("div", { class: "list", role: "listbox", id: "matches", "aria-label": "Folders and files" });
  const status = element("p", { class: "status", role: "status" });
  const input = element("input", { type: "text", role: "combobox", "aria-controls": "matches", "aria-expanded": "true",
    "aria-autocomplete": "list", "aria-label": "Search folders and files", placeholder: "Search folders and files",
    autocomplete: "off", spellcheck: "false" });
  const chosen = new Set(data.chips.map((chip) => chip.name));
  let found = [];
  let active = 0;
  const pick = (option) => { state.words = ""; send("change", { add: option.path }); };
  const mark = () => {
    [...list.children].forEach((row, index) => row.setAttribute("aria-selected", String(index === active)));
    if (found.length) input.setAttribute("aria-activedescendant", `match-${active}`);
    else input.removeAttribute("aria-activedescendant");
    list.children[active]?.scrollIntoView({ block: "nearest" });
  };
  const search = () => {
    state.words = input.value;
    const all = data.options ? matching(data.options, input.value, chosen) : [];
    found = all.slice(0, SHOWN);
    active = 0;
    list.replaceChildren(...found.map((option, index) => element("div", {
      class: "match", role: "option", id: `match-${index}`, onmousedown: (event) => event.preventDefault(),
      onclick: () => pick(option), onmousemove: () => { if (active !== index) { active = index; mark(); } },
    }, icon(option.path.endsWith("/") ? "folder" : "description"),
    element("span", { class: "path" }, option.path), element("span", { class: "about" }, option.about))));
    status.textContent = said(data.options, all.length);
    mark();
  };
  input.value = state.words;
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") active = Math.min(active + 1, found.length - 1);
    else if (event.key === "ArrowUp") active = Math.max(active - 1, 0);
    else if (event.key === "Enter") { if (found[active]) pick(found[active]); } else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
    mark();
  });
  search();
  return [input, list, status];
}

function said(options, number) {
  if (!options) return "Looking …";
  if (!number) return "No other folder or file is called that.";
  if (number > SHOWN) return `${SHOWN} of ${number}. Type more of the name.`;
  return number === 1 ? "1 match" : `${number} matches`;
}

// What has all the words in its path or title; first where a name begins with them, folders before files.
function matching(options, text, chosen) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const ranked = options.filter((option) => !chosen.has(option.path))
    .map((option) => ({ option, path: option.path.toLowerCase(), all: `${option.path} ${option.about}`.toLowerCase() }))
    .filter(({ all }) => words.every((word) => all.includes(word)));
  const begins = ({ path }) => words.some((word) => path.replace(/\/$/, "").split("/").at(-1).startsWith(word));
  return [...ranked.filter(begins), ...ranked.filter((item) => !begins(item))].map(({ option }) => option);
}

// The panel closes where one clicks or goes elsewhere.
function whenLeft(parent, state) {
  if (parent.left) document.removeEventListener("pointerdown", parent.left, true);
  parent.left = (event) => {
    const root = [...parent.children].find((child) => child.classList.contains("scope"));
    if (state.open && root && !event.composedPath().includes(root)) root.close();
  };
  document.addEventListener("pointerdown", parent.left, true);
  return () => document.removeEventListener("pointerdown", parent.left, true);
}
