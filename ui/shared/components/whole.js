// What belongs to the whole page: "/" focuses the question, and on a phone the sidebar makes room for what was
// chosen in it, and for a page that is touched beside it.

const QUESTION = '[data-testid="stChatInputTextArea"]';
const CHOSEN = '[data-testid="stSidebar"] :is(.st-key-new, [class*="st-key-open-"]) button, [data-testid="stSidebarNavLink"]';
const BESIDE = '[data-testid="stMain"], [data-testid="stBottom"]';
const COLLAPSE = '[data-testid="stSidebar"][data-collapsed="false"] [data-testid="stSidebarCollapseButton"] button';
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
  if (!window.matchMedia(PHONE).matches) return;
  const makes = event.target.closest?.(`${CHOSEN}, ${BESIDE}`);
  setTimeout(() => {
    if (makes) document.querySelector(COLLAPSE)?.click();
    // Streamlit keeps an open sidebar for the next visit, which it would cover.
    for (const key of Object.keys(localStorage)) if (key.startsWith("stSidebarCollapsed-")) localStorage.removeItem(key);
  });
}
