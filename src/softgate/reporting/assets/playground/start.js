// Everything is started here, after the first paint.

async function start() {
  const one = await oneLayer(), stack = await stackedLayers(one), gate = await softGate();
  one.listeners.push(stack);
  const parameters = parameterFields(one.later), select = byId("activation");
  const picked = () => {
    const choice = CHOICES[Number(select.value)];
    parameters(choice);
    say("formula", choice.formula);
    byId("root").style.setProperty("--colour", choice.colour);
    one.later();
  };
  select.addEventListener("change", picked);
  picked();
  gate();
  byId("root").dataset.ready = "true";
}

window.softgate = Object.assign(window.softgate ?? {}, {
  kernels: KERNELS,
  playground: { CHOICES, OWN, functionsOf, mesh, statistics, outputBins, meanField, simulate },
});
// The page's own charts come first. Should one of them fail, the playground is none the worse.
const failed = await softgate.ready.then(() => null, (error) => error);
await start();
if (failed) throw failed;
