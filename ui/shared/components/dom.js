// Code that the components share: make elements, insert the server's HTML, send clicks to the server.

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

// Streamlit bundles this icon font and declares it for the whole document.
const icon = (name) => element("span", { class: "icon", "aria-hidden": "true" }, name);

const FORBIDDEN = "script, style, iframe, object, embed, link, meta, base, form, svg, math, img, video, audio";

// Inserts HTML by `ui/shared/markdown.py`, which escapes its input; removes anything that could run, again.
function insert(root, html) {
  const body = new DOMParser().parseFromString(html, "text/html").body;
  for (const node of body.querySelectorAll(FORBIDDEN)) node.remove();
  for (const node of body.querySelectorAll("*")) {
    for (const { name } of [...node.attributes]) if (name.startsWith("on")) node.removeAttribute(name);
    if (node.matches("a[href]") && !/^(https?:|mailto:)/i.test(node.getAttribute("href"))) node.removeAttribute("href");
  }
  root.replaceChildren(...body.childNodes);
}

// Returns the root, one for each mount. A call with the data already shown keeps it, with hover and focus.
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

// Sends triggers with the newest `setTriggerValue`: an earlier one may belong to a fragment that is gone.
function sender({ parentElement, setTriggerValue }) {
  parentElement.trigger = setTriggerValue;
  return (name, value) => parentElement.trigger(name, { ...value, at: Date.now() });
}

// Sends the data attributes of a clicked element: `data-act="open" data-marker="3"`.
function acting(root, send) {
  root.send = send;
  root.onclick = (event) => {
    const node = event.target.closest("[data-act]");
    if (node && !node.disabled && event.detail < 2) root.send("act", { ...node.dataset });
  };
}

// Listens for keys on the document; each call replaces the handler, the returned function removes it.
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
