// What belongs to the whole page: "/" focuses the question (but not while something is being typed), and
// the theme's colour scheme reaches dialogs, which stand outside the app's own element.

export default function (component) {
  const page = document.documentElement;
  page.style.colorScheme = getComputedStyle(document.querySelector(".stApp")).colorScheme;
  page.dataset.keys = "on";
  return onKeys(component.parentElement, (event) => {
    if (event.key !== "/" || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const question = document.querySelector('[data-testid="stChatInputTextArea"]');
    if (!question) return;
    event.preventDefault();
    question.focus();
  });
}
