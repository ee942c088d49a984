// "/" focuses the question, wherever the focus is (but not while something is being typed).

export default function (component) {
  document.documentElement.dataset.keys = "on";
  return onKeys(component.parentElement, (event) => {
    if (event.key !== "/" || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const question = document.querySelector('[data-testid="stChatInputTextArea"]');
    if (!question) return;
    event.preventDefault();
    question.focus();
  });
}
