// Behaviour of the whole page: "/" focuses the question; on a phone, the sidebar closes after a choice in it,
// or after a touch on the page beside it.

const QUESTION = '[data-testid="stChatInputTextArea"]';
const CHOSEN = '[data-testid="stSidebar"] :is(.st-key-new, [class*="st-key-open-"]) button, [data-testid="stSidebarNavLink"]';
const BESIDE = '[data-testid="stMain"], [data-testid="stBottom"]';
const COLLAPSE = '[data-testid="stSidebar"][data-collapsed="false"] [data-testid="stSidebarCollapseButton"] button';
const PHONE = "(max-width: 768px)"; // the sidebar covers the page on screens of this width

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
    // Streamlit would remember the open sidebar, and cover the page with it at the next visit.
    for (const key of Object.keys(localStorage)) if (key.startsWith("stSidebarCollapsed-")) localStorage.removeItem(key);
  });
}
