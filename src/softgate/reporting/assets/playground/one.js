// One layer: an input distribution, an activation, and what comes out.

const CURVE_POINTS = 320;
const OUTPUT_BINS = 64;
const NUMBERS = ["mean", "variance", "gain", "gradient", "flat", "falling"];

// How far the picture reaches: in steps, so that the axis stands still while a slider moves.
const reachOf = (mean, sd) => [5, 10, 20].find((r) => r >= Math.abs(mean) + 2.2 * sd) ?? 20;

const orNull = (x) => (Number.isFinite(x) ? x : null);
const pointAt = (x) => ({ x, value: orNull(chosen.f.value(x)), slope: orNull(chosen.f.slope(x)) });

// Points of the curve; at a corner or a jump the line ends, and begins again.
function curvePoints(reach) {
  const points = [];
  for (let i = 0; i <= CURVE_POINTS; i++) points.push(pointAt(((2 * i) / CURVE_POINTS - 1) * reach));
  for (const x of chosen.breaks.filter((b) => Math.abs(b) < reach)) {
    const aside = 1e-9 * (1 + Math.abs(x));
    points.push(pointAt(x - aside), { x, value: null, slope: null }, pointAt(x + aside));
  }
  return points.sort((a, b) => a.x - b.x);
}

// The part of some stretches that the picture has room for; neighbours become one.
function within(parts, reach) {
  const found = [];
  for (const part of parts) {
    const low = Math.max(part.low, -reach), high = Math.min(part.high, reach);
    if (low >= high) continue;
    if (found.at(-1)?.high === low) found.at(-1).high = high;
    else found.push({ low, high });
  }
  return found;
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

function binRows(found, mean, sd, [low, high]) {
  const bins = outputBins(chosen.f, found, mean, sd, low, high, OUTPUT_BINS);
  const step = (high - low) / OUTPUT_BINS;
  return [...bins].map((share, k) => ({ low: low + k * step, high: low + (k + 1) * step, share }));
}

async function oneLayer() {
  const picture = await chart("through", throughSpec());
  const announce = announcer("one-summary");
  const update = perFrame(() => {
    draw(statistics(chosen.f, chosen.edges, mean.value, sd.value, flat.value));
    if (concernsOthers) for (const other of listeners) other(); // which wait for the next frame
    concernsOthers = false;
  });
  const later = () => {
    concernsOthers = true;
    update();
  };
  let concernsOthers = false;
  const listeners = [];
  const mean = field("mean", later), sd = field("sd", later), flat = field("flat", update);
  const probe = field("probe", () => read());

  // Drawn from outputs that are numbers; of others the page says so.
  function draw(found) {
    const reach = reachOf(mean.value, sd.value), points = curvePoints(reach);
    const yDomain = yDomainOf(points), name = chosen.choice.name;
    const parts = found ? found.stretches : [], none = { share: 0, low: 0, high: 0 };
    const bins = found ? binRows(found, mean.value, sd.value, yDomain) : [];
    const tallest = bins.reduce((a, b) => (b.share > a.share ? b : a), none);
    const words = found ? numbers(found) : `${name} is no number for some of these inputs.`;
    if (!found) for (const id of NUMBERS) say(`out-${id}`, "not defined");
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
      `${name} and its slope over inputs from ${-reach} to ${reach}; below, how inputs are ` +
        `distributed; on the right, outputs, most of them (${percent(tallest.share)}) between ` +
        `${shown(tallest.low)} and ${shown(tallest.high)}.`,
    );
    say("one-words", found ? meaning(found) : words);
    announce(words);
    read();
  }

  function numbers(found) {
    const { choice } = chosen, input = sd.value ** 2;
    say("out-mean", shown(found.mean));
    say("out-variance", shown(found.variance));
    say("out-gain", `\u00d7 ${shown(found.variance / input)}`);
    say("out-gradient", `\u00d7 ${shown(found.slopeSquare)}`);
    say("out-flat", percent(found.flat));
    say("out-falling", percent(found.falling));
    return (
      `${choice.name}: outputs have mean ${shown(found.mean)} and variance ` +
      `${shown(found.variance)}; ${percent(found.flat)} of inputs are in the flat region, ` +
      `${percent(found.falling)} where it falls.`
    );
  }

  // One sentence on what is to be seen.
  function meaning(found) {
    const gain = found.variance / sd.value ** 2;
    if (found.flat > 0.5) return "More than half of the inputs are in the flat region: they hardly learn.";
    if (found.falling > 0.25) return "More than a quarter of the inputs are where the curve falls.";
    if (gain < 0.5) return "Less than half of the variance is left: the next layer needs larger weights.";
    if (gain > 2) return "The variance more than doubles: the next layer needs smaller weights.";
    return "Most inputs are where the slope is alive, and the variance is about as large as before.";
  }

  function read() {
    const { name } = chosen.choice, x = probe.value, point = pointAt(x);
    picture.view.data("probe", [point]).runAsync();
    const text = (y) => (y === null ? "no number" : shown(y));
    const words = `${name}(${plain(x)}) = ${text(point.value)}, slope ${text(point.slope)}`;
    say("probe-text", words);
    probe.slider.setAttribute("aria-valuetext", words);
  }

  // A pointer over the picture reads it off, too.
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
