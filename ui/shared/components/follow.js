// Scrolls a conversation with a scroll bar of its own to its last question, whenever there is a new one.

export default function (component) {
  const { data, parentElement } = component;
  if (parentElement.shown === data.turn) return;
  parentElement.shown = data.turn;
  const scroll = () => {
    const box = document.querySelector(".st-key-talk");
    const last = box && [...box.querySelectorAll('[class*="st-key-turn-"]')].at(-1);
    if (last) box.scrollTop += last.getBoundingClientRect().top - box.getBoundingClientRect().top;
  };
  for (const after of [50, 400]) setTimeout(scroll, after); // once it is there, and again when it is laid out
}
