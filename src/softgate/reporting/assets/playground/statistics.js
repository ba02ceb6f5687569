// Statistics of an activation for normal inputs: shares, mean, variance, output distribution.
//
// The mean of a quantity is an integral with the normal density: Gauss-Legendre on the panels of
// `mesh`, cut again at every standard deviation. A share is the probability between the points
// where the slope crosses the limit, which are found by bisection to the last bit.

const REACH = 14; // standard deviations: exp(x)² times the density peaks at up to 8 of them
const CELLS = 1600; // of the output distribution and of the search for crossings
const GRID = new Float64Array(CELLS + 1).map((_, i) => (i / CELLS) * 16 - 8);

// The probability between two points of the standard normal distribution, exact in both tails.
function mass(low, high) {
  return low > 0 ? KERNELS.Phi(-low) - KERNELS.Phi(-high) : KERNELS.Phi(high) - KERNELS.Phi(low);
}

let masses; // of the cells of GRID; the outermost include the tails
function cellMasses() {
  if (!masses) {
    masses = new Float64Array(CELLS).map((_, i) => mass(GRID[i], GRID[i + 1]));
    masses[0] += KERNELS.Phi(GRID[0]);
    masses[CELLS - 1] += KERNELS.Phi(GRID[0]);
  }
  return masses;
}

function cutPanels(edges, mean, sd, reach, every) {
  const low = mean - reach * sd, high = mean + reach * sd;
  const all = edges.filter((x) => x > low && x < high);
  for (let z = -reach; z <= reach; z += every) all.push(mean + z * sd);
  all.sort((a, b) => a - b);
  return all.filter((x, i) => i === 0 || x > all[i - 1]);
}

// Means over x from N(mean, sd²), or null if the function is not defined for some x.
function averages(f, edges, mean, sd, reach = REACH, every = 1) {
  const panels = cutPanels(edges, mean, sd, reach, every);
  const y = [], weight = [];
  let total = 0, first = 0, square = 0, slopeSquare = 0;
  for (let k = 1; k < panels.length; k++) {
    const half = (panels[k] - panels[k - 1]) / 2, middle = (panels[k] + panels[k - 1]) / 2;
    for (let i = 0; i < RULE.nodes.length; i++) {
      const x = middle + half * RULE.nodes[i], z = (x - mean) / sd;
      const w = half * RULE.weights[i] * Math.exp((-z * z) / 2), v = f.value(x), s = f.slope(x);
      y.push(v);
      weight.push(w);
      total += w;
      first += w * v;
      square += w * v * v;
      slopeSquare += w * s * s;
    }
  }
  const rms = Math.sqrt(square / total);
  let average = first / total;
  // The mean of an odd function is 0 except for rounding errors.
  if (Math.abs(average) < 1e-13 * rms) average = 0;
  let variance = 0;
  for (let i = 0; i < y.length; i++) variance += weight[i] * (y[i] - average) ** 2;
  const moments = {
    mean: average,
    variance: variance / total,
    square: square / total,
    slopeSquare: slopeSquare / total,
  };
  return Object.values(moments).every(Number.isFinite) ? moments : null;
}

const kind = (slope, flat) => (Math.abs(slope) < flat ? 2 : 0) + (slope < 0 ? 1 : 0);

// Intervals of x on which the slope is of one kind; `slopes` are those at mean + sd·GRID.
function stretches(f, slopes, mean, sd, flat) {
  const intervals = [];
  let start = -Infinity;
  for (let i = 0; i < CELLS; i++) {
    const end = mean + sd * GRID[i + 1], last = kind(slopes[i + 1], flat);
    let from = mean + sd * GRID[i], now = kind(slopes[i], flat);
    for (let crossings = 0; now !== last && crossings < 8; crossings++) {
      let a = from, b = end, next = last;
      for (let step = 0; step < 80; step++) {
        const middle = (a + b) / 2;
        if (middle <= a || middle >= b) break;
        const there = kind(f.slope(middle), flat);
        if (there === now) a = middle;
        else [b, next] = [middle, there];
      }
      intervals.push({ low: start, high: b, kind: now });
      [start, from, now] = [b, b, next];
    }
  }
  intervals.push({ low: start, high: Infinity, kind: kind(slopes[CELLS], flat) });
  return intervals;
}

function share(stretchesOfX, mean, sd, wanted) {
  let sum = 0;
  for (const { low, high, kind } of stretchesOfX) {
    if (wanted(kind)) sum += mass((low - mean) / sd, (high - mean) / sd);
  }
  return sum;
}

// The position between two points at which a function jumps from about `a` to about `b`.
function jumpBetween(f, low, high, a, b) {
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2, y = f.value(middle);
    if (Math.abs(y - a) < Math.abs(y - b)) low = middle;
    else high = middle;
  }
  return high;
}

// The distribution of the outputs: the probability of each cell, spread between its two outputs.
function outputBins(f, { values, slopes }, mean, sd, low, high, count) {
  const bins = new Float64Array(count), scale = count / (high - low), cells = cellMasses();
  const put = (y, m) => {
    const k = Math.floor((y - low) * scale);
    if (k >= 0 && k < count) bins[k] += m;
  };
  const width = (16 / CELLS) * sd;
  for (let i = 0; i < CELLS; i++) {
    const a = Math.min(values[i], values[i + 1]), b = Math.max(values[i], values[i + 1]);
    const steepest = Math.max(Math.abs(slopes[i]), Math.abs(slopes[i + 1]));
    const first = Math.floor((a - low) * scale), last = Math.floor((b - low) * scale);
    if (first === last) put(a, cells[i]);
    else if (b - a > 3 * steepest * width + 1e-12) {
      const [from, to] = [values[i], values[i + 1]]; // no outputs in between
      const x = jumpBetween(f, mean + sd * GRID[i], mean + sd * GRID[i + 1], from, to);
      const before = mass(GRID[i], (x - mean) / sd);
      put(from, before);
      put(to, cells[i] - before);
    } else {
      for (let k = Math.max(first, 0); k <= Math.min(last, count - 1); k++) {
        const from = Math.max(a, low + k / scale), to = Math.min(b, low + (k + 1) / scale);
        bins[k] += (cells[i] * Math.max(to - from, 0)) / (b - a);
      }
    }
  }
  return bins;
}

// All of it: { mean, variance, square, slopeSquare, flat, falling, values, slopes, stretches }.
function statistics(f, edges, mean, sd, flat) {
  const values = GRID.map((z) => f.value(mean + sd * z));
  const slopes = GRID.map((z) => f.slope(mean + sd * z));
  const moments = averages(f, edges, mean, sd);
  if (!moments || !values.every(Number.isFinite) || !slopes.every(Number.isFinite)) return null;
  const parts = stretches(f, slopes, mean, sd, flat);
  return {
    ...moments,
    flat: share(parts, mean, sd, (k) => k >= 2),
    falling: share(parts, mean, sd, (k) => k % 2 === 1),
    values,
    slopes,
    stretches: parts,
  };
}
