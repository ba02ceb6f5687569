// A deep random network, and its limit of infinite width (mean field).
//
// h₀ has `width` numbers from the input distribution; then y = f(h) and h ← gain/√width · W·y, with
// W standard normal and no bias. The backward pass starts with a standard normal vector d, and
// d ← f'(h) · gain/√width · Wᵀ·d. In the limit of infinite width, h is normal with variance q, and
// q ← gain²·E f(√q·z)², and the mean square of d is multiplied by gain²·E f'(√q·z)².

const WIDEST = 128;
const DEEPEST = 50;
const HUGE = 1e30; // the simulation stops at a variance above this or below its inverse

function meanField(f, edges, { mean, sd, gain, depth }) {
  const variance = [sd * sd], factor = [];
  let last = { q: NaN };
  for (let layer = 0; layer < depth; layer++) {
    const q = variance[layer];
    if (!(q < HUGE && q > 1 / HUGE)) break;
    const centre = layer === 0 ? mean : 0;
    const same = centre === 0 && Math.abs(q - last.q) <= 1e-14 * q; // a fixed point
    const moments = same ? last.moments : averages(f, edges, centre, Math.sqrt(q), 8, 2);
    if (!moments) break;
    last = centre === 0 ? { q, moments } : last;
    variance.push(gain * gain * moments.square);
    factor.push(gain * gain * moments.slopeSquare);
  }
  const gradient = [1];
  for (const x of factor.reverse()) gradient.unshift(x * gradient[0]);
  return { variance, gradient };
}

// The random numbers of a seed for the largest network; smaller ones use a part of them.
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

// The gain with which N(0, sd²) keeps its variance from layer to layer, or null.
function stableGain(f, edges, sd) {
  const moments = averages(f, edges, 0, sd);
  const gain = moments ? sd / Math.sqrt(moments.square) : NaN;
  return Number.isFinite(gain) ? gain : null;
}
