// What belongs to the whole page: "/" focuses the question (but not while something is being typed),
// the theme's colour scheme reaches dialogs, which stand outside the app's own element, and on a phone the
// sidebar makes room for the conversation that was chosen in it.

const CHOOSING = '.st-key-new button, .st-key-conversations [class*="st-key-open-"] button';
const PHONE = "(max-width: 768px)"; // where the sidebar lies over the page

export default function (component) {
  const page = document.documentElement;
  page.style.colorScheme = getComputedStyle(document.querySelector(".stApp")).colorScheme;
  page.dataset.keys = "on";
  document.addEventListener("click", makeRoom);
  return onKeys(component.parentElement, (event) => {
    if (event.key !== "/" || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const question = document.querySelector('[data-testid="stChatInputTextArea"]');
    if (!question) return;
    event.preventDefault();
    question.focus();
  });
}

function makeRoom(event) {
  if (!event.target.closest?.(CHOOSING) || !window.matchMedia(PHONE).matches) return;
  setTimeout(() => document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click());
}
