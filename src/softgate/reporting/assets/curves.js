// Curves: the functions shown, the cursor and the range of x, the same in every chart.
const quantities = ["value", "slope", "curvature"];
const drawn = [...quantities, "tail"];
const ids = drawn.map((name) => `curves-${name}`);
const limits = { low: -10, high: 10, narrowest: 0.5 };
const first = { low: -5, high: 5 };
const state = { ...first, cursor: 1 };
const names = document.getElementById("curves-names");
const slider = document.getElementById("curves-x");
const readings = document.getElementById("curves-readings");

const lines = new Map(); // by quantity, then by function: y by x
for (const name of drawn) {
  const rows = softgate.rows(`curves-${name}`);
  const byFunction = new Map();
  for (const row of rows) {
    const known = new Map();
    row.x.forEach((x, i) => {
      if (!known.has(x) || known.get(x) === null) known.set(x, row.y[i]);
    });
    byFunction.set(row.f, known);
  }
  lines.set(name, byFunction);
}
const shown = () =>
  [...names.querySelectorAll("[aria-pressed=true]")].map((button) => button.dataset.name);
const number = (y) => {
  if (y == null) return "–";
  const small = y !== 0 && Math.abs(y) < 5e-5;
  return (small ? y.toExponential(2) : y.toFixed(4)).replaceAll("-", "−");
};
const place = (x) => String(x).replace("-", "−");

const swatch = (name) =>
  [...names.children].find((one) => one.dataset.name === name).firstChild.cloneNode(true);

const read = () => {
  const body = readings.tBodies[0];
  body.replaceChildren(
    ...shown().map((name) => {
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.append(swatch(name), name);
      row.append(head);
      for (const quantity of quantities) {
        row.insertCell().textContent = number(lines.get(quantity).get(name).get(state.cursor));
      }
      return row;
    })
  );
  readings.querySelector(".at").textContent = place(state.cursor);
  document.getElementById("curves-at").textContent = place(state.cursor);
  slider.value = state.cursor;
};

const update = async (signals) => {
  for (const id of ids) {
    const view = await softgate.view(id);
    for (const [name, value] of Object.entries(signals)) view.signal(name, value);
    await view.runAsync();
  }
};

softgate.toggle("curves-names", ids);
names.addEventListener("shown", read);

// The functions are computed at multiples of 1/16 within ±4 and of 1/8 beyond; so moves the cursor.
const snapped = (x) => {
  const step = Math.abs(x) > 4 ? 8 : 16;
  return Math.min(limits.high, Math.max(limits.low, Math.round(x * step) / step));
};
const point = (x) => {
  const cursor = snapped(x);
  if (cursor === state.cursor || !lines.get("value").values().next().value.has(cursor)) return;
  state.cursor = cursor;
  read();
  update({ cursor });
};
slider.addEventListener("input", () => point(Number(slider.value)));

const zoom = (low, high) => {
  const width = Math.min(limits.high - limits.low, Math.max(limits.narrowest, high - low));
  const middle = (low + high) / 2;
  const left = Math.min(limits.high - width, Math.max(limits.low, middle - width / 2));
  Object.assign(state, { low: left, high: left + width });
  slider.min = Math.ceil(left * 16) / 16;
  slider.max = Math.floor((left + width) * 16) / 16;
  update({ low: state.low, high: state.high });
  point(Math.min(state.high, Math.max(state.low, state.cursor)));
};
const scale = (factor, around) =>
  zoom(around + (state.low - around) * factor, around + (state.high - around) * factor);
for (const button of document.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", () => {
    if (button.dataset.zoom === "reset") zoom(first.low, first.high);
    else scale(button.dataset.zoom === "in" ? 0.5 : 2, state.cursor);
  });
}

// A tooltip with the values of the curves of one chart; the table below has all quantities.
const tooltip = document.createElement("div");
tooltip.className = "beside";
tooltip.setAttribute("aria-hidden", "true");
const formatted = (y, quantity) => {
  if (quantity !== "tail" || y === undefined) return number(y);
  if (y === null) return "0"; // no line is drawn there
  return (y < 0.01 ? y.toExponential(2) : y.toFixed(4)).replaceAll("-", "−");
};
const showTooltip = (element, event) => {
  const quantity = element.id.replace("curves-", "");
  const head = document.createElement("b");
  head.textContent = `x = ${place(state.cursor)}`;
  const rows = shown().map((name) => {
    const row = document.createElement("div");
    const value = document.createElement("span");
    value.textContent = formatted(lines.get(quantity).get(name).get(state.cursor), quantity);
    const label = document.createElement("span");
    label.append(swatch(name), name);
    row.append(label, value);
    return row;
  });
  tooltip.replaceChildren(head, ...rows);
  const box = element.getBoundingClientRect();
  const left = event.clientX - box.left;
  tooltip.style.left = left < box.width / 2 ? `${left + 16}px` : "auto";
  tooltip.style.right = left < box.width / 2 ? "auto" : `${box.width - left + 16}px`;
  element.append(tooltip);
};

const inverted = (view, element, event) => {
  const left = event.clientX - element.getBoundingClientRect().left - view.origin()[0];
  return view.scale("x").invert(left);
};
for (const id of ids) {
  const element = document.getElementById(id);
  let held = null;
  element.addEventListener("pointermove", (event) => {
    const view = softgate.views.get(id);
    if (!view) return;
    if (held && event.pointerType === "mouse") {
      const moved = ((held.at - event.clientX) / view.width()) * (held.high - held.low);
      zoom(held.low + moved, held.high + moved);
    } else {
      point(inverted(view, element, event));
      showTooltip(element, event);
    }
  });
  element.addEventListener("pointerleave", () => tooltip.remove());
  if (id === "curves-tail") continue;
  element.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    held = { at: event.clientX, low: state.low, high: state.high };
    element.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  for (const name of ["pointerup", "pointercancel"]) {
    element.addEventListener(name, () => (held = null));
  }
  element.addEventListener("dblclick", () => zoom(first.low, first.high));
  element.addEventListener(
    "wheel",
    (event) => {
      const view = softgate.views.get(id);
      if (!event.ctrlKey || !view) return;
      event.preventDefault();
      scale(Math.exp(event.deltaY / 400), inverted(view, element, event));
    },
    { passive: false }
  );
}
