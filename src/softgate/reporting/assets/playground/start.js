// Start the panels, after the first paint.

async function start() {
  const one = await oneLayer(), stack = await stackedLayers(one), gate = await softGate();
  one.listeners.push(stack);
  const parameters = parameterFields(one.later), select = byId("activation");
  const selected = () => {
    const choice = CHOICES[Number(select.value)];
    parameters(choice);
    say("formula", choice.formula);
    byId("root").style.setProperty("--colour", choice.colour);
    one.later();
  };
  select.addEventListener("change", selected);
  selected();
  gate();
  byId("root").dataset.ready = "true";
}

window.softgate = Object.assign(window.softgate ?? {}, {
  kernels: KERNELS,
  playground: { CHOICES, OWN, functionsOf, mesh, statistics, outputBins, meanField, simulate },
});
// The charts of the page are drawn first; if one fails, the playground still starts.
const failed = await softgate.ready.then(() => null, (error) => error);
await start();
if (failed) throw failed;
