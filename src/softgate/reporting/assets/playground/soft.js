// The soft gate, drawn by hand: press a button and see the average become GELU.

const signed = (x) => `${x < 0 ? "\u2212" : "+"}${Math.abs(x).toFixed(2)}`;

async function softGate() {
  const picture = await chart("gate", gateSpec());
  const announce = announcer("gate-summary");
  const update = perFrame(show);
  const x = field("x", update), seed = field("seed", update);
  let count = 100;

  function show() {
    const found = gates(x.value, count, seed.value);
    const lows = found.path.map((p) => p.average), span = Math.abs(x.value) || 1;
    const low = Math.min(found.truth - 0.1 * span, ...lows);
    const high = Math.max(found.truth + 0.1 * span, ...lows), room = 0.06 * (high - low);
    const words =
      `After ${count} draws the average is ${shown(found.average)}; ` +
      `GELU(${plain(x.value)}) is ${shown(found.truth)}, the standard error ${shown(found.error)}.`;
    picture.show(
      {
        colour: CHOICES.find((one) => one.name === "gelu" && !one.own).colour,
        truth: found.truth,
        last: Math.max(count, 10),
        yDomain: [low - room, high + room],
      },
      { path: found.path },
      `Running average of the outputs over the number of draws. ${words}`,
    );
    say("gate-count", count.toLocaleString("en"));
    say("gate-open", `${found.open.toLocaleString("en")} (${percent(found.open / count)})`);
    say("gate-p", percent(found.p));
    say("gate-average", shown(found.average));
    say("gate-truth", shown(found.truth));
    say("gate-error", shown(found.error));
    say("gate-off", found.error > 0 ? signed((found.average - found.truth) / found.error) : "0");
    say("gate-last", found.last.reverse().map((open) => (open ? "\u25cf" : "\u25cb")).join(""));
    for (const one of buttons) one.disabled = count + Number(one.dataset.draws) > MOST_DRAWS;
    announce(words);
  }

  const buttons = [...byId("gate-buttons").querySelectorAll("[data-draws]")];
  for (const button of buttons) {
    button.addEventListener("click", () => {
      count = Math.min(count + Number(button.dataset.draws), MOST_DRAWS);
      update();
    });
  }
  byId("gate-again").addEventListener("click", () => {
    count = 1;
    update();
  });
  return update;
}
