// What Python says reaches the page, however slowly the page has started.

// anywidget 0.11 gives a widget's script two seconds to load. On a page that was busy for longer it complains in the
// console and drops all that Python says to that widget from then on. So the model listens as those of all other
// widgets do, and asks once for what it may have missed.
async function hear(model) {
  const whole = await model.widget_manager?.get_model(model.get("own"));
  if (!whole?.comm) return; // a page without a kernel
  const ofOthers = Object.getPrototypeOf(Object.getPrototypeOf(whole));
  whole.comm.on_msg(ofOthers._handle_comm_msg.bind(whole));
  model.send("again");
}

