// Holds the question of a turn at the top of the view until the reader scrolls, clicks or presses a key that
// scrolls: text that is written below it, or changes above it, does not move it.

export default function (component) {
  const { data, parentElement } = component;
  if (parentElement.held === data.turn) return;
  parentElement.held = data.turn;
  parentElement.release?.();
  parentElement.release = hold(data.turn);
}

const SCROLLING = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "]);

function hold(turn) {
  const box = document.querySelector(".st-key-talk") || document.querySelector('[data-testid="stMain"]');
  const place = () => {
    const shown = document.querySelector(`[class*="st-key-turn-"].st-key-${CSS.escape(turn)}`);
    if (shown) box.scrollTop += Math.round(shown.getBoundingClientRect().top - edge(box));
  };
  const sizes = new ResizeObserver(place);
  const nodes = new MutationObserver(place);
  sizes.observe(box);
  for (const child of box.children) sizes.observe(child);
  nodes.observe(box, { childList: true, subtree: true });
  const release = () => {
    sizes.disconnect();
    nodes.disconnect();
    for (const [name, listener] of listeners) document.removeEventListener(name, listener, true);
  };
  const moved = (event) => { if (SCROLLING.has(event.key) && !typing(event)) release(); };
  const listeners = [["wheel", release], ["touchmove", release], ["pointerdown", release], ["keydown", moved]];
  for (const [name, listener] of listeners) document.addEventListener(name, listener, true);
  place();
  return release;
}

// Returns the top of the view: below the page's header, which covers it.
function edge(box) {
  const header = document.querySelector('[data-testid="stHeader"]');
  const top = box.getBoundingClientRect().top;
  return Math.max(top, box.matches(".st-key-talk") || !header ? top : header.getBoundingClientRect().bottom);
}
