// Has the page drawn again once its conversation was changed in another window: asked, edited, deleted.
//
// It asks the server by a plain request. A fragment that looks every so often would do the same, but each of its
// runs may swallow the end of the run before it, and with that what was clicked or drawn meanwhile.

const EVERY_MS = 1000;

export default function (component) {
  const { data, parentElement } = component;
  const send = sender(component);
  parentElement.seen = data.seen;
  clearInterval(parentElement.timer);
  let differed = false;
  parentElement.timer = setInterval(async () => {
    if (!parentElement.isConnected) return clearInterval(parentElement.timer);
    if (document.hidden) return;
    const now = await changes(data.address);
    if (now === undefined || now === parentElement.seen) { differed = false; return; }
    // What was asked in this window is drawn by a run that is under way: a second look tells.
    if (!differed) { differed = true; return; }
    clearInterval(parentElement.timer);
    send("changed", {});
  }, EVERY_MS);
  return () => clearInterval(parentElement.timer);
}

async function changes(address) {
  try {
    const base = window.__streamlit?.BACKEND_BASE_URL || document.baseURI;
    const answer = await fetch(new URL(address, base));
    return answer.ok ? (await answer.json()).changes : undefined;
  } catch {
    return undefined; // the server is gone, which Streamlit says, or is not ours
  }
}
