// The soft gate: the output is x with probability Φ(x) and 0 otherwise; its mean is x·Φ(x).

const MOST_DRAWS = 100000;

const drawn = { seed: null, numbers: [], uniform: null };
function uniformNumbers(seed, count) {
  if (drawn.seed !== seed) Object.assign(drawn, { seed, numbers: [], uniform: uniforms(seed) });
  while (drawn.numbers.length < count) drawn.numbers.push(drawn.uniform());
  return drawn.numbers;
}

// The numbers of draws at which the running average is shown: all at first, then in steps of 4 %.
function shownCounts(count) {
  const counts = [];
  for (let n = 1; n < count; n = Math.max(n + 1, Math.round(n * 1.04))) counts.push(n);
  return [...counts, count];
}

function gates(x, count, seed) {
  const p = KERNELS.Phi(x), truth = KERNELS.gelu(x), u = uniformNumbers(seed, count);
  const spread = Math.abs(x) * Math.sqrt(p * KERNELS.Phi(-x));
  const counts = shownCounts(count), path = [];
  let open = 0;
  for (let n = 1, k = 0; n <= count; n++) {
    if (u[n - 1] < p) open++;
    if (n !== counts[k]) continue;
    k++;
    const error = spread / Math.sqrt(n);
    path.push({ n, average: (x * open) / n, low: truth - 2 * error, high: truth + 2 * error });
  }
  const last = [];
  for (let n = Math.max(0, count - 48); n < count; n++) last.push(u[n] < p);
  const error = spread / Math.sqrt(count);
  return { p, truth, open, average: path.at(-1).average, error, path, last };
}
