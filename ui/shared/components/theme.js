// The theme of this browser. Streamlit reads its choice when a page is loaded, from an entry of its own for each
// address: all pages get the same one.

const THEMES = [["System", "Like the system", "contrast"], ["Light", "Light", "light_mode"], ["Dark", "Dark", "dark_mode"]];

export default function (component) {
  const { data, parentElement } = component;
  const entries = entriesOf(data.pages);
  const now = chosen(entries);
  mounted(parentElement, "theme", { ...data, now }, (root) => {
    root.replaceChildren(element("div", { class: "choices", role: "radiogroup", "aria-label": "Theme" },
      THEMES.map(([name, label, symbol]) => element("button", {
        class: "choice", role: "radio", "aria-checked": String(name === now), tabindex: name === now ? "0" : "-1",
        onclick: () => choose(entries, name), onkeydown: walk,
      }, icon(symbol), label))));
  });
}

// Below the folder that the app is served from, as this page is.
function entriesOf(pages) {
  const parts = window.location.pathname.split("/");
  if (pages.includes(parts.at(-1)) && parts.at(-1)) parts.pop();
  const folder = parts.join("/").replace(/\/$/, "");
  return pages.map((page) => `stActiveTheme-${folder}/${page}-v2`);
}

function chosen(entries) {
  const kept = entries.map((entry) => window.localStorage.getItem(entry)).find(Boolean) || "";
  return THEMES.map(([name]) => name).find((name) => kept === JSON.stringify(name)) || "System";
}

function choose(entries, name) {
  for (const entry of entries) {
    if (name === "System") window.localStorage.removeItem(entry);
    else window.localStorage.setItem(entry, JSON.stringify(name));
  }
  window.location.reload();
}

// Arrows walk the choices, as in any group of radio buttons; Enter or the space bar takes one.
function walk(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const all = [...event.currentTarget.parentElement.children];
  all[(all.indexOf(event.currentTarget) + step + all.length) % all.length].focus();
}
