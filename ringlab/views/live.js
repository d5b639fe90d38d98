// The player as a widget: the same mountRing, with its step and its focus rank shared with Python.

export default {
  initialize: ({ model }) => void hear(model),
  render({ model, el }) {
    const host = document.createElement("div");
    host.className = "ringlab-player";
    el.replaceChildren(host);
    let player = null;

    function mount() {
      player?.leave();
      player = mountRing(host, model.get("data"), { ...model.get("options"), focus: model.get("focus") });
      player.go(model.get("step"));
      player.on(({ s, focus }) => {
        if (s === model.get("step") && focus === model.get("focus")) return;
        model.set({ step: s, focus });
        model.save_changes();
      });
    }
    const goes = () => player.go(model.get("step"));
    const looks = () => player.focus(model.get("focus"));
    const heard = { "change:data": mount, "change:step": goes, "change:focus": looks };
    mount();
    for (const name in heard) model.on(name, heard[name]);
    return () => {
      for (const name in heard) model.off(name, heard[name]);
      player.leave();
    };
  },
};
