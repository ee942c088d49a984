// A rendered document beside a list of its headings; the reader can ask about selected text.

export default function (component) {
  const { data, parentElement } = component;
  const send = sender(component);
  mounted(parentElement, "document", data, (root) => {
    const text = element("article", { class: "text" });
    insert(text, data.html);
    const go = (id) => text.querySelector(`#${id}`)?.scrollIntoView({ block: "start" });
    const links = data.headings.map(([level, id, title]) => element("button", { class: `heading level-${level}`, onclick: () => go(id) }, title));
    const ask = element("button", { class: "tool ask", hidden: true }, icon("forum"), "Ask about this");
    root.replaceChildren(links.length > 1 ? element("nav", { "aria-label": "Headings", tabindex: "0" }, links) : "", text, ask);
    offerToAsk(root, text, ask, send);
    const marked = text.querySelector("mark");
    if (marked) requestAnimationFrame(() => marked.scrollIntoView({ block: "center" }));
  });
}

function offerToAsk(root, text, ask, send) {
  const selected = () => String(root.getRootNode().getSelection?.() ?? document.getSelection()).trim();
  text.onmouseup = text.onkeyup = text.ontouchend = () => setTimeout(() => { ask.hidden = !selected(); });
  ask.onmousedown = (event) => event.preventDefault(); // keeps the selection
  ask.onclick = () => send("ask", { text: selected().slice(0, 500) });
}
