// What is behind More: speed, slots or values, rounds or real time, the focus rank, full screen, the keys.

// Fills the panel; gives a function that shows what is chosen now.
function fillPanel(host, player) {
  const { state, run, runs, parts } = player;
  const choices = []; // [button, whether it is chosen]

  function group(name, ...offers) {
    const nodes = offers.map(([words, isOn, act]) => {
      const node = button(words, act);
      choices.push([node, isOn]);
      return node;
    });
    parts.panel.append(html("div", { role: "group", "aria-label": name }, html("span", {}, name), ...nodes));
  }

  const speed = (words, value) => [words, () => state.speed === value, () => player.setSpeed(value)];
  group("speed", speed("½", 0.5), speed("1", 1), speed("2", 2));
  const values = (words, on) => [words, () => state.asValue === on, () => player.setValues(on)];
  if (player.hasValues) group("show", values("slots", false), values("values", true));
  const clock = (words, on) => [words, () => state.byTime === on, () => player.setClock(on)];
  if (player.hasTimes) group("clock", clock("rounds", false), clock("as it happened", true));

  const ranks = Array.from({ length: run.P }, (_, r) => html("option", { value: r }, `rank ${r}`));
  const focus = html("select", { "aria-label": "Focus rank" }, ...ranks);
  focus.addEventListener("change", () => player.setFocus(+focus.value));
  parts.panel.append(html("div", {}, html("span", {}, "focus"), focus));

  function screen() {
    if (document.fullscreenElement) return document.exitFullscreen();
    openPanel(parts); // out of the way
    return host.requestFullscreen();
  }
  const keys = () => (parts.keys.hidden = !parts.keys.hidden);
  parts.panel.append(html("div", {}, button("Full screen", screen), button("Keys", keys)));

  return () => {
    for (const [node, isOn] of choices) node.setAttribute("aria-pressed", `${isOn()}`);
    focus.value = state.focus;
  };
}
