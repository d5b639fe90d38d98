// One question, one button per choice. The first click is the guess and locks the rest; once the answer is known,
// the right choice is ticked and a wrong guess crossed. Marks are glyphs and words, never colour alone.

// Keys and clicks in `el` stay there. JupyterLab's command mode also hears keys pressed in outputs (D D deletes the
// cell), and a click in an output selects its cell, so that Shift+Enter would ask again instead of going on.
// Shift+Enter and Ctrl+Enter still mean "run the cell". Returns a function that undoes it.
function keepToItself(el) {
  const runs = (event) => event.key === "Enter" && (event.shiftKey || event.ctrlKey || event.metaKey || event.altKey);
  const guard = (event) => {
    if (el.contains(event.target)) el.toggleAttribute("data-lm-suppress-shortcuts", !runs(event));
  };
  window.addEventListener("keydown", guard, true); // before JupyterLab's own listener on the document
  for (const type of ["mousedown", "focusin"]) el.addEventListener(type, (event) => event.stopPropagation());
  el.addEventListener("keydown", (event) => {
    if (!runs(event)) event.stopPropagation();
  });
  return () => window.removeEventListener("keydown", guard, true);
}

let shown = 0; // ids must differ between two views of one page

function render({ model, el }) {
  el.classList.add("ringlab-guess");
  const release = keepToItself(el);

  const question = document.createElement("p");
  question.id = `ringlab-asked-${(shown += 1)}`;
  question.textContent = model.get("question");

  const row = document.createElement("div");
  row.className = "ringlab-choices";
  row.setAttribute("role", "group");
  row.setAttribute("aria-labelledby", question.id);
  const buttons = model.get("labels").map((label, index) => {
    const button = document.createElement("button");
    button.type = "button";
    const mark = document.createElement("span");
    mark.className = "ringlab-mark";
    button.append(mark, label);
    button.addEventListener("click", () => choose(index));
    row.append(button);
    return button;
  });

  const status = document.createElement("p");
  status.className = "ringlab-status";
  status.setAttribute("role", "status");
  el.append(question, row, status);

  let pending = -1; // clicked here, not yet confirmed: locks without waiting for a busy kernel

  const state = () => ({
    guess: model.get("guess") >= 0 ? model.get("guess") : model.get("answer") ? -1 : pending,
    right: model.get("right"),
    answer: model.get("answer"),
  });

  function choose(index) {
    const { guess, answer } = state();
    if (guess >= 0 || answer) return;
    pending = index;
    model.set("clicked", index);
    model.save_changes();
    draw();
  }

  function draw() {
    const { guess, right, answer } = state();
    const labels = model.get("labels");
    const locked = guess >= 0 || answer !== "";
    buttons.forEach((button, index) => {
      // still focusable when locked, so that the choices can be read again
      button.setAttribute("aria-disabled", locked);
      button.setAttribute("aria-pressed", index === guess);
      button.classList.toggle("ringlab-right", index === right);
      button.classList.toggle("ringlab-wrong", answer !== "" && index === guess && index !== right);
      const mark = index === right ? "\u2713 " : index !== guess ? "" : answer ? "\u2717 " : "\u25cf ";
      button.firstChild.textContent = mark;
    });
    const said = guess >= 0 ? `You said ${labels[guess]}` : "No guess this time";
    if (!answer) status.textContent = guess >= 0 ? `${said}. Now run on and see.` : "";
    else if (guess >= 0 && guess === right) status.textContent = `${said}, and that is the answer.`;
    else status.textContent = `${said}. The answer: ${answer}.`;
  }

  row.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step && at >= 0) {
      buttons[(at + step + buttons.length) % buttons.length].focus();
      event.preventDefault();
    }
  });

  model.on("change:guess change:right change:answer", draw);
  draw();
  return () => {
    release();
    model.off("change:guess change:right change:answer", draw);
  };
}

export default { initialize: ({ model }) => void hear(model), render };
