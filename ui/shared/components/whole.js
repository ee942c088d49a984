// What belongs to the whole page: "/" focuses the question, and on a phone the sidebar makes room for what was
// chosen in it.

const QUESTION = '[data-testid="stChatInputTextArea"]';
const CHOSEN = '[data-testid="stSidebar"] :is(.st-key-new, [class*="st-key-open-"]) button, [data-testid="stSidebarNavLink"]';
const PHONE = "(max-width: 768px)"; // where the sidebar lies over the page

export default function (component) {
  document.documentElement.style.colorScheme = getComputedStyle(document.querySelector(".stApp")).colorScheme;
  document.documentElement.dataset.keys = "on";
  document.addEventListener("click", makeRoom);
  return onKeys(component.parentElement, (event) => {
    if (event.key !== "/" || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const question = document.querySelector(QUESTION);
    if (!question) return;
    event.preventDefault();
    question.focus();
  });
}

function makeRoom(event) {
  if (!event.target.closest?.(CHOSEN) || !window.matchMedia(PHONE).matches) return;
  setTimeout(() => document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click());
}
