// Many layers on top of each other: a random network, and what infinitely wide ones do.
//
// h₀ has `width` numbers from the input distribution; then y = f(h) and h ← gain/√width · W·y, with
// W standard normal and no bias. Backwards, a standard normal vector d comes in at the top, and
// d ← f'(h) · gain/√width · Wᵀ·d. Infinitely wide (mean field), h is normal with variance q, and
// q ← gain²·E f(√q·z)², while d's mean square is multiplied by gain²·E f'(√q·z)².

const WIDEST = 128;
const DEEPEST = 50;
const HUGE = 1e30; // beyond, or below one over it, layers are not followed any more

function meanField(f, edges, { mean, sd, gain, depth }) {
  const variance = [sd * sd], factor = [];
  let last = { q: NaN };
  for (let layer = 0; layer < depth; layer++) {
    const q = variance[layer];
    if (!(q < HUGE && q > 1 / HUGE)) break;
    const centre = layer === 0 ? mean : 0;
    const same = centre === 0 && Math.abs(q - last.q) <= 1e-14 * q; // it has come to rest
    const found = same ? last.found : averages(f, edges, centre, Math.sqrt(q), 8, 2);
    if (!found) break;
    last = centre === 0 ? { q, found } : last;
    variance.push(gain * gain * found.square);
    factor.push(gain * gain * found.slopeSquare);
  }
  const gradient = [1];
  for (const x of factor.reverse()) gradient.unshift(x * gradient[0]);
  return { variance, gradient };
}

// The random numbers of a seed, so many that every width and depth takes its part of them.
const networks = new Map();
function network(seed) {
  if (!networks.has(seed)) {
    networks.clear();
    const uniform = uniforms(seed);
    networks.set(seed, {
      input: fillNormal(new Float64Array(WIDEST), uniform),
      above: fillNormal(new Float64Array(WIDEST), uniform),
      weights: [],
      uniform,
    });
  }
  return networks.get(seed);
}

function weightsOf(seed, layer) {
  const { weights, uniform } = network(seed);
  while (weights.length <= layer) {
    weights.push(fillNormal(new Float64Array(WIDEST * WIDEST), uniform));
  }
  return weights[layer];
}

const meanSquare = (v, about = 0) => v.reduce((sum, x) => sum + (x - about) ** 2, 0) / v.length;

function simulate(f, { mean, sd, gain, depth, width, seed }) {
  const scale = gain / Math.sqrt(width), { input, above } = network(seed);
  let h = input.slice(0, width).map((z) => mean + sd * z);
  const variance = [meanSquare(h, mean)], slopes = [];
  for (let layer = 0; layer < depth; layer++) {
    const w = weightsOf(seed, layer), y = h.map(f.value), next = new Float64Array(width);
    slopes.push(h.map(f.slope));
    for (let i = 0; i < width; i++) {
      let sum = 0;
      for (let j = 0; j < width; j++) sum += w[i * WIDEST + j] * y[j];
      next[i] = scale * sum;
    }
    h = next;
    variance.push(meanSquare(h));
    if (!(variance.at(-1) < HUGE && variance.at(-1) > 1 / HUGE)) break;
  }
  let d = above.slice(0, width);
  const top = meanSquare(d), gradient = [1];
  for (let layer = slopes.length - 1; layer >= 0; layer--) {
    const w = weightsOf(seed, layer), below = new Float64Array(width);
    for (let i = 0; i < width; i++) {
      for (let j = 0; j < width; j++) below[j] += w[i * WIDEST + j] * d[i];
    }
    d = below.map((x, j) => scale * x * slopes[layer][j]);
    gradient.unshift(meanSquare(d) / top);
  }
  return { variance, gradient };
}

// The gain with which N(0, sd²) keeps its variance from layer to layer; null where there is none.
function holdingGain(f, edges, sd) {
  const found = averages(f, edges, 0, sd);
  const gain = found ? sd / Math.sqrt(found.square) : NaN;
  return Number.isFinite(gain) ? gain : null;
}
