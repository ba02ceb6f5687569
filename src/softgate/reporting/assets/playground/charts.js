// The charts: Vega views that are created once and updated with new data.
//
// Text and lines are drawn in `currentColor`, so that they follow the page's theme by themselves.
// The style sheet fixes their sizes before they are drawn, so that nothing moves.

const INK = "currentColor";
const CONFIG = {
  axis: {
    domainColor: INK, domainOpacity: 0.5, tickColor: INK, tickOpacity: 0.5, gridColor: INK,
    gridOpacity: 0.13, labelColor: INK, titleColor: INK, labelFont: "inherit", titleFont: "inherit",
    labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", titlePadding: 6, aria: false,
  },
  text: { fill: INK, font: "inherit", fontSize: 12 },
};
const PADDING = { left: 46, right: 18, top: 8, bottom: 40 };
const POWER =
  "datum.value > 1e-4 && datum.value < 1e4 ? datum.value : " +
  "replace(format(datum.value, '.0e'), '+', '')";

const at = (scale, field) => ({ scale, field });
const pixel = (signal) => ({ signal });
const fixed = (value) => ({ value });
const COLOUR = pixel("colour");
const ink = (opacity) => ({ fill: fixed(INK), fillOpacity: fixed(opacity) });
const stroke = (colour, width, dash = []) => ({
  stroke: colour, strokeWidth: fixed(width), strokeDash: fixed(dash),
});

// A mark of some data; without data, a single one.
const mark = (type, data, update, more = {}) => ({
  type, ...(data ? { from: { data } } : {}), aria: false, encode: { update }, ...more,
});
const word = (text, x, y) =>
  mark("text", null, {
    text: fixed(text), fill: fixed(INK), fontSize: fixed(12), align: fixed("right"), x, y,
  });
const tables = (...names) => names.map((name) => ({ name, values: [] }));
const signals = (values) => Object.entries(values).map(([name, value]) => ({ name, value }));

// Inputs at the bottom, the function in the middle, outputs on the right.
const ACROSS = "width - side - 10";
const DOWN = "height - 92";

function throughMarks() {
  const strip = (data, top, how) =>
    mark("rect", data, {
      x: at("x", "low"), x2: at("x", "high"), y: pixel(`${DOWN} + ${top}`), height: fixed(6), ...how,
    });
  const line = (name, width, dash) =>
    mark("line", "curve", {
      x: at("x", "x"), y: at("y", name), ...stroke(COLOUR, width, dash),
      defined: pixel(`isValid(datum.${name})`),
    });
  const dot = (name, opacity) =>
    mark("symbol", "probe", {
      x: at("x", "x"), y: at("y", name), size: fixed(70), fill: COLOUR, fillOpacity: fixed(opacity),
      ...stroke(fixed(INK), 1.5),
    });
  const cursor = mark("rule", "probe", {
    x: at("x", "x"), y: fixed(0), y2: pixel(DOWN), ...stroke(fixed(INK), 1), opacity: fixed(0.4),
  });
  const curve = {
    type: "group",
    clip: true,
    encode: { update: { width: pixel(ACROSS), height: pixel(DOWN) } },
    marks: [cursor, line("slope", 1.6, [5, 4]), line("value", 3, []), dot("slope", 0.35), dot("value", 1)],
  };
  const inputs = mark("area", "input", {
    x: at("x", "x"), y: at("in", "density"), y2: pixel("height"), ...ink(0.25),
    ...stroke(fixed(INK), 1),
  });
  const outputs = mark("rect", "output", {
    x: pixel("width - side"), x2: at("out", "share"), y: at("y", "high"), y2: at("y", "low"),
    fill: COLOUR, fillOpacity: fixed(0.75),
  }, { clip: true });
  return [
    curve, strip("flat", 6, ink(0.45)), strip("falling", 16, { fill: COLOUR }), inputs, outputs,
    word("outputs", pixel("width"), pixel(`${DOWN} + 16`)),
    word("inputs", pixel(ACROSS), pixel("height - 44")),
  ];
}

function throughSpec() {
  const range = (from, to) => [pixel(from), pixel(to)];
  return {
    padding: PADDING,
    autosize: "none",
    config: CONFIG,
    signals: [
      ...signals({ colour: INK, xDomain: [-5, 5], yDomain: [-1, 5], inMax: 0.4, outMax: 0.1 }),
      { name: "side", update: "width < 420 ? 64 : 130" },
    ],
    data: tables("curve", "input", "output", "flat", "falling", "probe"),
    scales: [
      { name: "x", domain: pixel("xDomain"), range: range("0", ACROSS), zero: false },
      { name: "y", domain: pixel("yDomain"), range: range(DOWN, "0"), zero: false },
      { name: "in", domain: [0, pixel("inMax")], range: range("height", "height - 58") },
      { name: "out", domain: [0, pixel("outMax")], range: range("width - side", "width") },
    ],
    axes: [
      { scale: "x", orient: "bottom", grid: true, title: "input x", tickCount: 8 },
      { scale: "y", orient: "left", grid: true, tickCount: 6 },
    ],
    marks: throughMarks(),
  };
}

// One quantity over the layers, on a logarithmic scale: a line and dots.
function depthSpec() {
  const place = { x: at("x", "layer"), y: at("y", "size") };
  return {
    padding: { ...PADDING, left: 58 },
    autosize: "none",
    config: CONFIG,
    signals: signals({ colour: INK, depth: 20, yDomain: [0.1, 10], ticks: [0.1, 1, 10] }),
    data: tables("theory", "network"),
    scales: [
      { name: "x", domain: [0, pixel("depth")], range: "width", zero: true },
      { name: "y", type: "log", domain: pixel("yDomain"), range: "height", clamp: true },
    ],
    axes: [
      { scale: "x", orient: "bottom", title: "layer", tickCount: 6, format: "d" },
      {
        scale: "y", orient: "left", grid: true, values: pixel("ticks"),
        encode: { labels: { update: { text: pixel(POWER) } } },
      },
    ],
    marks: [
      mark("rule", null, {
        x: fixed(0), x2: pixel("width"), y: { scale: "y", value: 1 },
        ...stroke(fixed(INK), 1, [2, 3]), opacity: fixed(0.55),
      }),
      mark("line", "theory", { ...place, ...stroke(fixed(INK), 1.6, [6, 4]) }),
      mark("symbol", "network", {
        ...place, size: fixed(46), fill: COLOUR, ...stroke(fixed(INK), 0.6),
      }),
    ],
  };
}

// The running average of the gate's outputs, and its limit.
function gateSpec() {
  const place = { x: at("x", "n"), y: at("y", "average") }, clip = { clip: true };
  return {
    padding: { ...PADDING, left: 58 },
    autosize: "none",
    config: CONFIG,
    signals: signals({ colour: INK, truth: 0, last: 10, yDomain: [-1, 1] }),
    data: tables("path"),
    scales: [
      { name: "x", type: "log", domain: [1, pixel("last")], range: "width" },
      { name: "y", domain: pixel("yDomain"), range: "height", zero: false },
    ],
    axes: [
      {
        scale: "x", orient: "bottom", title: "number of draws", tickCount: 5, format: ",d",
        labelOverlap: true,
      },
      { scale: "y", orient: "left", grid: true, tickCount: 5 },
    ],
    marks: [
      mark("area", "path", { x: at("x", "n"), y: at("y", "low"), y2: at("y", "high"), ...ink(0.14) }, clip),
      mark("rule", null, {
        x: fixed(0), x2: pixel("width"), y: { scale: "y", signal: "truth" },
        ...stroke(fixed(INK), 1.5, [6, 4]),
      }),
      mark("line", "path", { ...place, ...stroke(COLOUR, 2.5) }, clip),
      mark("symbol", "path", { ...place, size: fixed(18), fill: COLOUR }, clip),
    ],
  };
}

// Expressions are interpreted because the page forbids evaluating code; nothing is loaded.
const EMBED = {
  mode: "vega", renderer: "svg", ast: true, actions: false, defaultStyle: false, tooltip: false,
  loader: { load: () => Promise.reject(new Error("nothing is loaded")) },
};

// A view in an element, resized with it.
async function chart(id, spec) {
  const element = byId(id), { left, right, top, bottom } = spec.padding;
  const across = () => Math.max(element.clientWidth - left - right, 120);
  const sized = { ...spec, width: across(), height: element.clientHeight - top - bottom };
  const host = document.createElement("div");
  host.setAttribute("aria-hidden", "true"); // the surrounding element has the text alternative
  const { view } = await vegaEmbed(host, sized, EMBED);
  element.replaceChildren(host);
  new ResizeObserver(() => view.width(across()).runAsync()).observe(element);
  return {
    element,
    view,
    // New values of signals and data by name, and the text alternative.
    show(signals, data, words) {
      for (const [name, value] of Object.entries(signals)) view.signal(name, value);
      for (const [name, rows] of Object.entries(data)) view.data(name, rows);
      element.setAttribute("aria-label", words);
      view.runAsync();
    },
  };
}
