// The panel of many layers: does the signal, and does the gradient, vanish or explode?

const FLOOR = 1e-12; // smaller values, and values above its inverse, are drawn at the edge

// The range of an axis in powers of ten, and its labels: at most seven.
function decades(rows) {
  const sizes = rows.map((row) => Math.min(Math.max(row.size, FLOOR), 1 / FLOOR));
  const low = Math.floor(Math.log10(Math.min(...sizes, 0.1)));
  const high = Math.ceil(Math.log10(Math.max(...sizes, 10)));
  const step = Math.ceil((high - low) / 6), ticks = [];
  for (let k = low; k <= high; k++) if (k % step === 0) ticks.push(Number(`1e${k}`));
  return { yDomain: [Number(`1e${low}`), Number(`1e${high}`)], ticks };
}

const rowsOf = (sizes) =>
  sizes
    .map((size, layer) => ({ layer, size: Math.max(size, FLOOR) }))
    .filter((row) => Number.isFinite(row.size));

// Stable: within a factor of ten.
function verdict(ratio) {
  if (Number.isNaN(ratio)) return "is not defined";
  if (ratio > 10) return "explodes";
  return ratio < 0.1 ? "vanishes" : "is stable";
}

async function stackedLayers(one) {
  const forward = await chart("forward", depthSpec());
  const backward = await chart("backward", depthSpec());
  const announce = announcer("stack-summary");
  const update = perFrame(draw);
  const depth = field("depth", update), width = field("width", update);
  const gain = field("gain", update), seed = field("network", update);
  let stable = null;

  function draw() {
    const settings = {
      mean: one.mean.value, sd: one.sd.value, gain: gain.value,
      depth: depth.value, width: width.value, seed: seed.value,
    };
    const theory = meanField(chosen.f, chosen.edges, settings), made = simulate(chosen.f, settings);
    for (const [picture, key] of [[forward, "variance"], [backward, "gradient"]]) {
      const rows = { theory: rowsOf(theory[key]), network: rowsOf(made[key]) };
      const scale = decades([...rows.theory, ...rows.network]);
      const signals = { colour: chosen.choice.colour, depth: depth.value, ...scale };
      picture.show(signals, rows, describe(key, made[key]));
    }
    const words = [numbers("variance", theory, made), numbers("gradient", theory, made)];
    stable = stableGain(chosen.f, chosen.edges, settings.sd);
    const [least, most] = [Number(gain.number.min), Number(gain.number.max)];
    byId("hold").disabled = stable === null || stable < least || stable > most;
    const offer = `Set the stable gain: ${shown(stable)}`;
    say("hold", stable === null ? "No gain is stable" : offer);
    announce(`${chosen.choice.name}, ${depth.value} layers: ${words.join(" ")}`);
  }

  function describe(key, sizes) {
    const what = key === "variance" ? "Variance of the signal" : "Mean square of the gradient";
    return `${what} over ${sizes.length - 1} layers, logarithmic: ${shown(sizes[0])} at layer 0, ` +
      `${shown(sizes.at(-1))} at layer ${sizes.length - 1}.`;
  }

  // The ratio of the signal is last over first layer, that of the gradient first over last.
  function numbers(key, theory, made) {
    const ratio = ({ [key]: s }) => (key === "variance" ? s.at(-1) / s[0] : s[0] / s.at(-1));
    const theoryLayers = theory[key].length - 1, layers = made[key].length - 1;
    const wide = theoryLayers > 0 ? ratio(theory) : NaN, simulated = ratio(made);
    const what = key === "variance" ? "signal" : "gradient";
    say(`${key}-ratio`, `\u00d7 ${shown(simulated)}`);
    say(`${key}-theory`, `\u00d7 ${shown(wide)}`);
    say(`${key}-layer`, `\u00d7 ${shown(wide ** (1 / theoryLayers))}`);
    say(`${key}-verdict`, verdict(simulated));
    const stopped = layers < depth.value ? ` (stopped after ${layers} layers)` : "";
    return `The ${what} ${verdict(simulated)}: \u00d7 ${shown(simulated)}${stopped}.`;
  }

  byId("hold").addEventListener("click", () => {
    gain.set(Number(stable.toPrecision(5)));
    update();
  });
  byId("another").addEventListener("click", () => {
    seed.set(seed.value >= Number(seed.number.max) ? 1 : seed.value + 1);
    update();
  });
  return update;
}
