// Several questions with the same answers: one fieldset of native radio buttons each, so that Tab goes from question
// to question and the arrow keys choose. Answers may be changed.

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

let shown = 0; // names must differ between two views of one page

function render({ model, el }) {
  el.classList.add("ringlab-guess");
  const release = keepToItself(el);
  const view = (shown += 1);

  const title = document.createElement("p");
  title.textContent = model.get("title");
  const inputs = model.get("texts").map((text, number) => {
    const group = document.createElement("fieldset");
    const legend = document.createElement("legend");
    legend.textContent = `${number + 1}. ${text}`;
    group.append(legend);
    const row = document.createElement("div");
    const radios = model.get("choices").map((choice, index) => {
      const label = document.createElement("label");
      const input = document.createElement("input");
      input.type = "radio";
      input.name = `ringlab-question-${view}-${number}`;
      input.addEventListener("change", () => {
        model.set("picked", model.get("picked").map((old, i) => (i === number ? index : old)));
        model.save_changes();
      });
      label.append(input, choice);
      row.append(label);
      return input;
    });
    group.append(row);
    el.append(group);
    return radios;
  });
  const note = document.createElement("p");
  note.className = "ringlab-status";
  note.setAttribute("role", "status");
  el.prepend(title);
  el.append(note);

  function draw() {
    const picked = model.get("picked");
    inputs.forEach((radios, number) => radios.forEach((input, index) => { input.checked = picked[number] === index; }));
    const left = picked.filter((index) => index < 0).length;
    note.textContent = [model.get("note"), left ? `${left} to go.` : "All answered."].filter(Boolean).join(" ");
  }

  model.on("change:picked change:note", draw);
  draw();
  return () => {
    release();
    model.off("change:picked change:note", draw);
  };
}

export default { initialize: ({ model }) => void hear(model), render };
