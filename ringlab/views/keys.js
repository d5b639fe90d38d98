// Everything by keyboard. Keys that do nothing here are kept from the notebook all the same; Tab always leaves.

const ARROWS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

// Gives the listener for keydown.
function makeKeys(host, player, pointing) {
  const { state, run, parts, quiz } = player;
  const actions = {
    ArrowRight: () => player.step(1),
    ArrowLeft: () => player.step(-1),
    " ": player.toggle,
    Home: () => player.jumpTo(0),
    End: () => player.jumpTo(player.last()),
    ArrowUp: () => player.setFocus(state.focus - 1),
    ArrowDown: () => player.setFocus(state.focus + 1),
    p: player.jumpToPhase,
    v: () => player.setValues(!state.asValue),
    t: () => player.setClock(!state.byTime),
    "?": () => (parts.keys.hidden = !parts.keys.hidden),
    Enter: pointing.startCursor,
    Escape: closeOrLeave,
  };

  // While a question is open, digits choose a chunk; so do up, down and Enter.
  function answers(name) {
    const [, c] = state.cursor ?? [];
    const by = { ArrowUp: -1, ArrowDown: 1 }[name];
    if (/^\d$/.test(name) && +name < run.C) player.choose(quiz.rank, +name);
    else if (name === "Enter" && state.cursor) player.choose(quiz.rank, c);
    else if (by) pointing.placeCursor(quiz.rank, state.cursor ? c + by : by > 0 ? 0 : run.C - 1);
    else return false;
    return true;
  }

  function moves(name) {
    if (!ARROWS[name]) return false;
    pointing.placeCursor(state.cursor[0] + ARROWS[name][0], state.cursor[1] + ARROWS[name][1]);
    return true;
  }

  function closeOrLeave() {
    const open = !parts.keys.hidden || !parts.tip.hidden || state.told || state.cursor;
    if (open) {
      parts.keys.hidden = true;
      pointing.forget();
      return player.refresh();
    }
    parts.root.activeElement?.blur();
    host.blur();
    host.closest(".jp-Notebook")?.focus();
  }

  return (event) => {
    if (event.key === "Tab" || isForPage(event)) return;
    event.stopPropagation();
    const target = parts.root.activeElement;
    const presses = event.key === "Enter" || event.key === " ";
    if (target?.matches("select") || (presses && target?.matches("button, summary"))) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (presses && target?.matches(".choice")) player.choose(quiz.rank, +target.dataset.hit.split(" ")[2]);
    else if (player.asking() && answers(name));
    else if (state.roving && moves(name));
    else if (actions[name]) actions[name]();
    else return;
    event.preventDefault();
  };
}
