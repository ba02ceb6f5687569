// Panels on which a function is smooth enough for one Gauss-Legendre rule.
//
// A panel is halved until the rule on it agrees with the rule on its halves. If that never happens,
// there is a kink or a jump, and panels are cut there. The mesh depends on the activation and its
// parameters only, and is used for every input distribution.

const LAST = 2 ** 12; // functions are assumed to be smooth beyond this
const AGREE = 1e-10;
const HALVINGS = 44;

function panelSums(f, low, high) {
  const half = (high - low) / 2, middle = (high + low) / 2;
  let value = 0, slope = 0, size = 0, finite = true;
  for (let i = 0; i < RULE.nodes.length; i++) {
    const x = middle + half * RULE.nodes[i], w = half * RULE.weights[i];
    const y = f.value(x), s = f.slope(x);
    finite = finite && Number.isFinite(y) && Number.isFinite(s);
    value += w * y;
    slope += w * s;
    size += w * (Math.abs(y) + Math.abs(s));
  }
  return { low, high, value, slope, size, finite };
}

function converged(whole, left, right) {
  const error =
    Math.abs(whole.value - left.value - right.value) +
    Math.abs(whole.slope - left.slope - right.slope);
  return error <= AGREE * whole.size + 1e-13 * (whole.high - whole.low);
}

// The edges of converged panels within consecutive `edges`, and the points without convergence.
function halved(f, edges, halvings) {
  const refined = [edges[0]], breaks = [];
  for (let i = 1; i < edges.length; i++) {
    const open = [{ panel: panelSums(f, edges[i - 1], edges[i]), depth: 0 }];
    let patience = 200; // a formula may oscillate faster and faster
    while (open.length > 0) {
      const { panel, depth } = open.pop();
      const middle = (panel.low + panel.high) / 2;
      const left = panelSums(f, panel.low, middle), right = panelSums(f, middle, panel.high);
      const done = !panel.finite || converged(panel, left, right) || --patience < 0;
      if (done || depth >= halvings) {
        if (!done) breaks.push(middle);
        refined.push(panel.high);
        continue;
      }
      open.push({ panel: right, depth: depth + 1 }, { panel: left, depth: depth + 1 });
    }
  }
  return { edges: refined, breaks };
}

function jumps(f, x) {
  const aside = 1e-9 * (1 + Math.abs(x)), left = x - aside, right = x + aside;
  const step = Math.abs(f.value(right) - f.value(left)) + Math.abs(f.slope(right) - f.slope(left));
  return step > 1e-5 * (1 + Math.abs(f.slope(left)) + Math.abs(f.slope(right)));
}

// { edges, breaks } of a function.
function mesh(f) {
  const powers = [];
  for (let x = 1; x <= LAST; x *= 4) powers.push(x);
  const edges = [...powers.map((x) => -x).reverse(), 0, ...powers];
  let panels = halved(f, edges, HALVINGS);
  const { breaks } = panels;
  if (breaks.length > 0) {
    const cut = [...new Set([...edges, ...breaks])].sort((a, b) => a - b);
    panels = halved(f, cut, 12);
  }
  // A kink at an edge does not affect the integral, but lines must end there.
  const all = new Set([...breaks, ...panels.edges.filter((x) => jumps(f, x))]);
  return { edges: panels.edges, breaks: [...all] };
}
