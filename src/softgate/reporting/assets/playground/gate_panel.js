// The panel of the soft gate: each button adds draws, and the average approaches GELU.

const signed = (x) => `${x < 0 ? "\u2212" : "+"}${Math.abs(x).toFixed(2)}`;

async function softGate() {
  const picture = await chart("gate", gateSpec());
  const announce = announcer("gate-summary");
  const update = perFrame(show);
  const x = field("x", update), seed = field("seed", update);
  let count = 100;

  function show() {
    const draws = gates(x.value, count, seed.value);
    const lows = draws.path.map((p) => p.average), span = Math.abs(x.value) || 1;
    const low = Math.min(draws.truth - 0.1 * span, ...lows);
    const high = Math.max(draws.truth + 0.1 * span, ...lows), room = 0.06 * (high - low);
    const words =
      `After ${count} draws the average is ${shown(draws.average)}; ` +
      `GELU(${plain(x.value)}) is ${shown(draws.truth)}, and the standard error is ${shown(draws.error)}.`;
    picture.show(
      {
        colour: CHOICES.find((one) => one.name === "gelu" && !one.own).colour,
        truth: draws.truth,
        last: Math.max(count, 10),
        yDomain: [low - room, high + room],
      },
      { path: draws.path },
      `Running average of the outputs over the number of draws. ${words}`,
    );
    say("gate-count", count.toLocaleString("en"));
    say("gate-open", `${draws.open.toLocaleString("en")} (${percent(draws.open / count)})`);
    say("gate-p", percent(draws.p));
    say("gate-average", shown(draws.average));
    say("gate-truth", shown(draws.truth));
    say("gate-error", shown(draws.error));
    say("gate-off", draws.error > 0 ? signed((draws.average - draws.truth) / draws.error) : "0");
    say("gate-last", draws.last.reverse().map((open) => (open ? "\u25cf" : "\u25cb")).join(""));
    for (const button of buttons) button.disabled = count + Number(button.dataset.draws) > MOST_DRAWS;
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
