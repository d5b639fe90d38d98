// The scrubber: a tick per round, a gap between adding and copying; in real time a plain line with a clock.

// `seek(u)` is called with the place of the pointer, 0..1.
function makeScrubber(seek) {
  const root = html("div", { class: "track", role: "slider", tabindex: 0, "aria-label": "Round" });
  const EDGE = 16;
  const H = 48;
  const picture = (...kids) => svg("svg", { "aria-hidden": "true", viewBox: `0 0 ${width} ${H}` }, ...kids);
  const thumb = (x) => svg("circle", { class: "thumb", cx: x, cy: 24, r: 9 });

  function show(drawing, now, last, words) {
    root.replaceChildren(drawing);
    const value = { "aria-valuemin": 0, "aria-valuemax": last, "aria-valuenow": now, "aria-valuetext": words };
    element(root, value, []);
  }

  let width = 200;
  const resize = (room) => (width = Math.max(200, room));

  // stops: of the run; at: where the player stands; last: the last stop that can be seen yet.
  function drawStops(stops, phases, at, last, words) {
    const x = (s) => EDGE + ((width - 2 * EDGE) * s) / Math.max(1, stops.length - 1);
    const every = Math.ceil((26 * stops.length) / width); // every how many rounds there is room for a number
    const parts = [];
    const spans = []; // of equal phase
    stops.forEach(({ kind, t }, s) => {
      const state = { past: s <= at, locked: s > last };
      const rail = (cls, from) => svg("path", { class: classes(`rail ${cls}`, state), d: `M${from} 24H${x(s)}` });
      const tick = (path) => svg("path", { class: classes("mark", state), d: path });
      if (kind === "round") {
        const from = stops[s - 1].kind === "turn" ? x(s - 0.62) : x(s - 1);
        const here = { here: s === at, locked: s > last };
        parts.push(rail(phases[t], from), tick(`M${x(s)} 18v12`));
        if (t % every === 0) parts.push(label(classes("", here), x(s), 45, t));
        if (spans.at(-1)?.phase === phases[t] && spans.at(-1).to === from) spans.at(-1).to = x(s);
        else spans.push({ phase: phases[t], from, to: x(s) });
      } else if (kind === "turn") {
        parts.push(tick(`M${x(s) - 4} 24l4 -4l4 4l-4 4z`));
      } else if (kind !== "start") {
        parts.push(rail("end", x(s - 1)), tick(`M${x(s)} 16v16`));
      }
    });
    for (const { phase, from, to } of spans)
      if (PHASES[phase] && to - from > 54) parts.push(label("", (from + to) / 2, 11, PHASES[phase]));
    show(picture(...parts, thumb(x(at))), at, last, words);
  }

  function drawTime(now, span, words) {
    const x = (us) => EDGE + ((width - 2 * EDGE) * us) / span;
    const quarters = [0, 1, 2, 3, 4].map((i) => (span * i) / 4);
    const marks = quarters.map((us) => label("", clamp(x(us), 22, width - 28), 44, micro(us)));
    const rail = svg("path", { class: "rail", d: `M${x(0)} 24H${x(span)}` });
    show(picture(rail, ...marks, thumb(x(now))), Math.round(now), Math.round(span), words);
  }

  function follow(event) {
    const box = root.getBoundingClientRect();
    seek(clamp((event.clientX - box.left - EDGE) / (box.width - 2 * EDGE), 0, 1));
  }
  root.addEventListener("pointerdown", (event) => {
    root.setPointerCapture(event.pointerId);
    follow(event);
  });
  root.addEventListener("pointermove", (event) => root.hasPointerCapture(event.pointerId) && follow(event));

  return { root, resize, drawStops, drawTime };
}
