// Focuses the first text field of the dialog that contains this component, once.

export default function ({ parentElement }) {
  if (parentElement.done) return;
  parentElement.done = true;
  setTimeout(() => parentElement.host?.closest("[role=dialog]")?.querySelector("input[type=text], textarea")?.focus(), 50);
}
