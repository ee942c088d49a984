// What belongs to the whole page: "/" focuses the question (but not while something is being typed),
// the theme's colour scheme reaches dialogs, which stand outside the app's own element, Escape closes a dialog
// that has lost the focus, and on a phone the sidebar makes room for the conversation that was chosen in it.

const CHOOSING = '.st-key-new button, .st-key-conversations [class*="st-key-open-"] button';
const PHONE = "(max-width: 768px)"; // where the sidebar lies over the page

const LIST = ".st-key-conversations";
const ROW = '[class*="st-key-current-"], [class*="st-key-other-"]';
const ROWS = `${LIST} [class*="st-key-open-"] button`;
const QUESTION = '[data-testid="stChatInputTextArea"]';
const DIALOG = '[data-testid="stDialog"] [role="dialog"]';

export default function (component) {
  const page = document.documentElement;
  document.addEventListener("click", skipped, true);
  document.addEventListener("keydown", walked);
  document.addEventListener("keydown", escaped);
  document.addEventListener("focusin", oneStop);
  oneStop();
  if (!page.watched) {
    page.watched = new MutationObserver(oneStop);
    page.watched.observe(document.body, { childList: true, subtree: true });
  }
  page.style.colorScheme = getComputedStyle(document.querySelector(".stApp")).colorScheme;
  page.dataset.keys = "on";
  document.addEventListener("click", makeRoom);
  return onKeys(component.parentElement, (event) => {
    if (event.key !== "/" || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const question = document.querySelector(QUESTION);
    if (!question) return;
    event.preventDefault();
    question.focus();
  });
}

// The list of conversations is one stop of the Tab key: arrows walk it, and to the right is a row's menu.
function oneStop() {
  const buttons = [...document.querySelectorAll(`${LIST} ${ROW.split(", ").join(` button, ${LIST} `)} button`)];
  const stop = buttons.find((button) => button === document.activeElement) || buttons.find((button) => button.dataset.stop)
    || document.querySelector(`${LIST} [class*="st-key-current-"] button`) || buttons[0];
  for (const button of buttons) {
    if (button.tabIndex !== (button === stop ? 0 : -1)) button.tabIndex = button === stop ? 0 : -1;
    if (button === stop) button.dataset.stop = "here";
    else delete button.dataset.stop;
  }
}

function walked(event) {
  const row = event.target.closest?.(ROW);
  if (!row?.closest(LIST) || event.altKey || event.ctrlKey || event.metaKey) return;
  const rows = [...document.querySelectorAll(ROWS)];
  const own = row.querySelector('[class*="st-key-open-"] button');
  const to = { ArrowDown: rows[rows.indexOf(own) + 1], ArrowUp: rows[rows.indexOf(own) - 1], Home: rows[0],
    End: rows.at(-1), ArrowLeft: own, ArrowRight: row.querySelector('[class*="st-key-menu-"] button') }[event.key];
  if (!to || event.target.getAttribute("aria-expanded") === "true") return;
  event.preventDefault();
  to.focus();
}

// A button is disabled while it makes a file, and loses the focus by that: the dialog around it hears no keys.
function escaped(event) {
  if (event.key !== "Escape" || event.target !== document.body) return;
  document.querySelector(DIALOG)?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
}

// Streamlit's own link to skip the menu leads to the question, where there is one.
function skipped(event) {
  const question = event.target.closest?.('[data-testid="stSkipToContent"]') && document.querySelector(QUESTION);
  if (!question) return;
  event.preventDefault();
  event.stopPropagation();
  question.focus();
}

function makeRoom(event) {
  if (!event.target.closest?.(CHOOSING) || !window.matchMedia(PHONE).matches) return;
  setTimeout(() => document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click());
}
