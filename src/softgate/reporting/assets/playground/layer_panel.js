// The panel of one layer: the input distribution, the activation, and the output distribution.

const CURVE_POINTS = 320;
const OUTPUT_BINS = 64;
const NUMBERS = ["mean", "variance", "gain", "gradient", "flat", "falling"];

// The range of the axis, in steps, so that it does not change with every move of a slider.
const reachOf = (mean, sd) => [5, 10, 20].find((r) => r >= Math.abs(mean) + 2.2 * sd) ?? 20;

const orNull = (x) => (Number.isFinite(x) ? x : null);
const pointAt = (x) => ({ x, value: orNull(chosen.f.value(x)), slope: orNull(chosen.f.slope(x)) });

// Points of the curve, with a gap at each kink or jump.
function curvePoints(reach) {
  const points = [];
  for (let i = 0; i <= CURVE_POINTS; i++) points.push(pointAt(((2 * i) / CURVE_POINTS - 1) * reach));
  for (const x of chosen.breaks.filter((b) => Math.abs(b) < reach)) {
    const aside = 1e-9 * (1 + Math.abs(x));
    points.push(pointAt(x - aside), { x, value: null, slope: null }, pointAt(x + aside));
  }
  return points.sort((a, b) => a.x - b.x);
}

// The parts of intervals that are within the axis; adjacent ones are joined.
function within(parts, reach) {
  const joined = [];
  for (const part of parts) {
    const low = Math.max(part.low, -reach), high = Math.min(part.high, reach);
    if (low >= high) continue;
    if (joined.at(-1)?.high === low) joined.at(-1).high = high;
    else joined.push({ low, high });
  }
  return joined;
}

function yDomainOf(points) {
  const all = points.flatMap((p) => [p.value, p.slope]).filter((y) => y !== null);
  const low = Math.min(0, ...all), high = Math.max(0.1, ...all), room = 0.04 * (high - low);
  return [low - room, high + room];
}

function bell(mean, sd, reach) {
  const rows = [];
  for (let i = 0; i <= 160; i++) {
    const x = reach * (i / 80 - 1), z = (x - mean) / sd;
    rows.push({ x, density: KERNELS.phi(z) / sd });
  }
  rows.push({ x: mean, density: KERNELS.phi(0) / sd });
  return rows.sort((a, b) => a.x - b.x);
}

function binRows(moments, mean, sd, [low, high]) {
  const bins = outputBins(chosen.f, moments, mean, sd, low, high, OUTPUT_BINS);
  const step = (high - low) / OUTPUT_BINS;
  return [...bins].map((share, k) => ({ low: low + k * step, high: low + (k + 1) * step, share }));
}

async function oneLayer() {
  const picture = await chart("through", throughSpec());
  const announce = announcer("one-summary");
  const update = perFrame(() => {
    draw(statistics(chosen.f, chosen.edges, mean.value, sd.value, flat.value));
    if (changed) for (const listener of listeners) listener(); // drawn in the next frame
    changed = false;
  });
  const later = () => {
    changed = true;
    update();
  };
  let changed = false;
  const listeners = [];
  const mean = field("mean", later), sd = field("sd", later), flat = field("flat", update);
  const probe = field("probe", () => read());

  // `moments` is null if the function is not defined for some inputs.
  function draw(moments) {
    const reach = reachOf(mean.value, sd.value), points = curvePoints(reach);
    const yDomain = yDomainOf(points), name = chosen.choice.name;
    const parts = moments ? moments.stretches : [], none = { share: 0, low: 0, high: 0 };
    const bins = moments ? binRows(moments, mean.value, sd.value, yDomain) : [];
    const tallest = bins.reduce((a, b) => (b.share > a.share ? b : a), none);
    const words = moments ? numbers(moments) : `${name} is not defined for some of these inputs.`;
    if (!moments) for (const id of NUMBERS) say(`out-${id}`, "not defined");
    if (Number(probe.slider.max) !== reach) probe.limit(-reach, reach);
    const input = bell(mean.value, sd.value, reach);
    picture.show(
      {
        colour: chosen.choice.colour, xDomain: [-reach, reach], yDomain,
        inMax: Math.max(...input.map((row) => row.density)), outMax: tallest.share || 1,
      },
      {
        curve: points,
        input,
        output: bins,
        flat: within(parts.filter((p) => p.kind >= 2), reach),
        falling: within(parts.filter((p) => p.kind % 2 === 1), reach),
        probe: [pointAt(probe.value)],
      },
      `${name} and its slope for inputs from ${-reach} to ${reach}. Bottom: distribution of the ` +
        `inputs. Right: distribution of the outputs, whose mode (${percent(tallest.share)}) is ` +
        `between ${shown(tallest.low)} and ${shown(tallest.high)}.`,
    );
    say("one-words", moments ? meaning(moments) : words);
    announce(words);
    read();
  }

  function numbers(moments) {
    const { choice } = chosen, input = sd.value ** 2;
    say("out-mean", shown(moments.mean));
    say("out-variance", shown(moments.variance));
    say("out-gain", `\u00d7 ${shown(moments.variance / input)}`);
    say("out-gradient", `\u00d7 ${shown(moments.slopeSquare)}`);
    say("out-flat", percent(moments.flat));
    say("out-falling", percent(moments.falling));
    return (
      `${choice.name}: the outputs have mean ${shown(moments.mean)} and variance ` +
      `${shown(moments.variance)}; ${percent(moments.flat)} of the inputs are in the flat region, ` +
      `${percent(moments.falling)} have a negative slope.`
    );
  }

  // One sentence of interpretation.
  function meaning(moments) {
    const gain = moments.variance / sd.value ** 2;
    if (moments.flat > 0.5) return "More than half of the inputs are in the flat region, with almost no gradient.";
    if (moments.falling > 0.25) return "More than a quarter of the inputs have a negative slope.";
    if (gain < 0.5) return "The variance is more than halved: the next layer needs larger weights.";
    if (gain > 2) return "The variance more than doubles: the next layer needs smaller weights.";
    return "Most inputs are outside of the flat region, and the variance changes by less than a factor of 2.";
  }

  function read() {
    const { name } = chosen.choice, x = probe.value, point = pointAt(x);
    picture.view.data("probe", [point]).runAsync();
    const text = (y) => (y === null ? "not defined" : shown(y));
    const words = `${name}(${plain(x)}) = ${text(point.value)}, slope ${text(point.slope)}`;
    say("probe-text", words);
    probe.slider.setAttribute("aria-valuetext", words);
  }

  // A pointer over the chart moves the probe, too.
  const pointed = (event) => {
    const scale = picture.view.scale("x"), box = picture.element.getBoundingClientRect();
    const x = scale.invert(event.clientX - box.left - PADDING.left), [low, high] = scale.domain();
    if (x < low || x > high) return;
    probe.set(Math.round(x * 100) / 100);
    read();
  };
  for (const name of ["pointermove", "pointerdown"]) picture.element.addEventListener(name, pointed);
  return { update, later, listeners, mean, sd };
}
