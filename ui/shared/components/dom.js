// Building DOM nodes from the trees of ui/shared/markdown_tree.py. Text is only ever inserted as text nodes, and
// only the elements named here are ever created: nothing that a document or a model wrote can run.

const ALLOWED = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "table",
  "thead", "tbody", "tr", "th", "td", "em", "strong", "s", "code", "pre", "br", "hr", "span", "mark"]);
const SHORT = 12; // characters of a cell that is not broken
const LONGEST_WORD = 24; // characters of a word in code, such as ECS-FAN-1, that is not broken at its hyphens
const IDS = /(\b[A-Z][A-Z0-9]{0,7}(?:-[A-Z0-9]{1,8})+\b)/; // P-ATM-01, C-105: not broken, and copied as they are
const SAFE_LINK = /^(https?:\/\/|mailto:)/i;

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === "") continue;
    node.append(...(child instanceof Node ? [child] : worded(String(child))));
  }
  return node;
}

function worded(text) {
  return text.split(IDS).filter(Boolean).map((part) => {
    if (!IDS.test(part)) return document.createTextNode(part);
    const id = document.createElement("span");
    id.className = "short";
    id.textContent = part;
    return id;
  });
}

// Streamlit bundles this icon font and declares it for the whole document.
const icon = (name) => element("span", { class: "icon", "aria-hidden": "true" }, name);

function build(tree, special) {
  return tree.flatMap((node) => {
    if (typeof node === "string") return worded(node);
    const children = build(node.c || [], special);
    if (special && special[node.t]) return special[node.t](node, children);
    if (node.t === "a" && SAFE_LINK.test(node.href)) {
      return element("a", { href: node.href, target: "_blank", rel: "noopener noreferrer" }, children);
    }
    const tag = ALLOWED.has(node.t) ? node.t : "span";
    const made = element(tag, { class: node.k, title: node.title, start: node.start, colspan: node.span }, children);
    if (node.align) made.style.textAlign = node.align;
    if (/^t[dh]$/.test(tag) && made.textContent.length <= SHORT) made.classList.add("short");
    if (tag === "code" && !made.textContent.includes("\n")) keepHyphens(made);
    return tag === "table" ? element("div", { class: "scroll", tabindex: "0" }, made) : made;
  });
}

function keepHyphens(code) {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) if (!texts.currentNode.parentElement.matches(".short")) found.push(texts.currentNode);
  for (const text of found) {
    const parts = text.data.split(/(\S*-\S*)/);
    text.replaceWith(...parts.map((part, index) => (index % 2 && part.length <= LONGEST_WORD
      ? element("span", { class: "short" }, part) : part)));
  }
}

// One root for each mount; a call with the data already shown changes nothing, so hover and focus survive.
function mounted(parent, name, data, render) {
  const written = JSON.stringify(data);
  let root = [...parent.children].find((child) => child.classList.contains(name));
  if (!root) {
    root = element("div", { class: name });
    parent.append(root);
  }
  if (root.shown !== written) {
    root.shown = written;
    render(root);
  }
  return root;
}

// Sends a trigger by the newest call: one from which something was drawn may name a fragment that is gone.
function sender({ parentElement, setTriggerValue }) {
  parentElement.trigger = setTriggerValue;
  return (name, value) => parentElement.trigger(name, { ...value, at: Date.now() });
}

// Listeners on the document, replaced at each call and removed with the component.
function onKeys(parent, handler) {
  if (parent.keyHandler) document.removeEventListener("keydown", parent.keyHandler);
  parent.keyHandler = handler;
  document.addEventListener("keydown", handler);
  return () => document.removeEventListener("keydown", parent.keyHandler);
}

function typing(event) {
  const target = event.composedPath()[0];
  return target instanceof HTMLElement
    && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
