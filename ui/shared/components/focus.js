// Gives the focus to the first field of the dialog that it stands in, once.

export default function ({ parentElement }) {
  if (parentElement.done) return;
  parentElement.done = true;
  setTimeout(() => parentElement.host?.closest("[role=dialog]")?.querySelector("input[type=text], textarea")?.focus(), 50);
}
