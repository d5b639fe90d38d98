// One line of Python in a field, with a button that copies it. Where it lives, the still picture is not needed.

function stills(el) {
  const cell = el.closest(".jp-Cell, .cell") ?? document;
  return cell.querySelectorAll(".ringlab-still");
}

export default {
  initialize: ({ model }) => void hear(model),
  render({ model, el }) {
    const label = document.createElement("label");
    const field = document.createElement("input");
    const button = document.createElement("button");
    const said = document.createElement("span");
    label.className = "ringlab-copyline";
    label.textContent = "As one line of Python ";
    Object.assign(field, { type: "text", readOnly: true, spellcheck: false });
    Object.assign(button, { type: "button", textContent: "Copy" });
    said.setAttribute("role", "status");
    label.append(field);
    el.replaceChildren(label, button, said);
    el.classList.add("ringlab-copyline-row");

    const show = () => ((field.value = model.get("line")), (said.textContent = ""));
    async function copy() {
      field.select();
      try {
        await navigator.clipboard.writeText(field.value);
      } catch {
        document.execCommand("copy"); // where the page may not use the clipboard, a selection can still be copied
      }
      said.textContent = " copied";
    }
    button.addEventListener("click", copy);
    // JupyterLab's command mode must not take what is typed here for its own
    el.dataset.lmSuppressShortcuts = "true";
    model.on("change:line", show);
    show();
    const hide = () => stills(el).forEach((still) => (still.hidden = true));
    hide();
    requestAnimationFrame(hide); // the element is in no cell yet when it is drawn first
    return () => model.off("change:line", show);
  },
};
