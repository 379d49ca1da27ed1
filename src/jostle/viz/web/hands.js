// Input from the mouse, the touch screen and the keyboard.

function hands(view, stage, click) {
  const held = new Map(), { camera } = stage;
  let moved = 0;
  const onView = ({ clientX, clientY }) => {
    const { left, top } = view.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };
  view.addEventListener("pointerdown", (event) => {
    view.setPointerCapture(event.pointerId);
    if (held.size === 0) moved = 0;
    held.set(event.pointerId, onView(event));
  });
  view.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) return;
    const before = [...held.values()], [x, y] = onView(event), [x0, y0] = held.get(event.pointerId);
    held.set(event.pointerId, [x, y]);
    moved += Math.hypot(x - x0, y - y0);
    const pans = camera.flat || event.shiftKey || event.buttons & 6;
    if (held.size > 1) pinch(camera, before, [...held.values()]);
    else if (moved > NEAR) pans ? camera.pan(x - x0, y - y0) : camera.orbit(x - x0, y - y0);
    stage.repaint();
  });
  view.addEventListener("pointerup", (event) => {
    held.delete(event.pointerId);
    if (moved <= NEAR && held.size === 0 && event.button === 0) click(...onView(event), event.shiftKey);
  });
  view.addEventListener("pointercancel", (event) => held.delete(event.pointerId));
  view.addEventListener("contextmenu", (event) => event.preventDefault());
  view.addEventListener("wheel", (event) => {
    event.preventDefault();
    camera.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...onView(event));
    stage.repaint();
  }, { passive: false });
}

function pinch(camera, [a, b], [c, d]) {
  const middle = (p, q) => [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2];
  const apart = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]) || 1;
  const [from, to] = [middle(a, b), middle(c, d)];
  camera.pan(to[0] - from[0], to[1] - from[1]);
  camera.zoom(apart(c, d) / apart(a, b), ...to);
}

// Keys that a focused control uses itself are left to it.
function keys(root, table, after) {
  const listen = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const on = event.target, typing = on.matches?.("select, input[type=number]");
    const presses = event.key === " " && on.matches?.("button, summary, input[type=checkbox]");
    const slides = on.matches?.("input[type=range]") && !event.shiftKey && /^(Arrow|Home|End|Page)/.test(event.key);
    const act = table[(event.shiftKey && event.key.startsWith("Arrow") ? "shift " : "") + event.key];
    if (!act || presses || slides || (typing && event.key !== "Escape")) return;
    event.preventDefault();
    event.stopPropagation(); // the notebook must not react to these keys
    act();
    after();
  };
  root.addEventListener("keydown", listen);
  return () => root.removeEventListener("keydown", listen);
}
