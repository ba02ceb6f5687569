// Controls: a slider and a number field for one value, and announcements for screen readers.

const byId = (id) => document.getElementById(`pg-${id}`);

// A number with four significant digits.
function shown(x) {
  if (Number.isNaN(x)) return "not defined";
  if (x === 0 || !Number.isFinite(x)) return x === 0 ? "0" : "infinite";
  const size = Math.abs(x);
  const text = size >= 1e-4 && size < 1e6 ? x.toPrecision(4) : x.toExponential(3);
  return text.replace(/^-/, "\u2212").replace("e+", "e");
}
const plain = (x) => String(x).replace(/^-/, "\u2212");
const percent = (share) => `${(100 * share).toFixed(2)} %`;

const say = (id, text) => {
  byId(id).textContent = text;
};

// Call `changed` at most once per frame.
function perFrame(changed) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      changed();
    });
  };
}

// Announce a sentence to screen readers when nothing has changed for 0.4 s; not when the page opens.
function announcer(id) {
  let timer, opening = true;
  return (text) => {
    clearTimeout(timer);
    if (opening) {
      opening = false;
      return;
    }
    timer = setTimeout(() => say(id, text), 400);
  };
}

// A field: slider, number, hint. `refuse` returns why a number is not accepted, or "".
function field(id, changed, refuse = () => "") {
  const slider = byId(id), number = byId(`${id}-number`), hint = byId(`${id}-hint`);
  let value = Number(slider.value), usual = hint.textContent;
  const reason = (text) => {
    const entered = text.trim() === "" ? NaN : Number(text);
    if (!Number.isFinite(entered)) return "expected a number";
    if (number.step === "1" && !Number.isInteger(entered)) return "expected a whole number";
    const { min, max } = number, inside = entered >= Number(min) && entered <= Number(max);
    return min !== "" && !inside ? `expected ${plain(min)} to ${plain(max)}` : refuse(entered);
  };
  const take = () => {
    const why = reason(number.value);
    number.setAttribute("aria-invalid", String(why !== ""));
    hint.textContent = why || usual;
    if (why === "") value = Number(number.value);
    return why === "";
  };
  slider.addEventListener("input", () => {
    number.value = slider.value;
    if (take()) changed();
  });
  number.addEventListener("input", () => {
    if (!take()) return;
    slider.value = number.value;
    changed();
  });
  return {
    slider,
    number,
    get value() {
      return value;
    },
    recheck: take,
    limit(low, high) {
      for (const input of [slider, number]) Object.assign(input, { min: low, max: high });
      this.set(Math.min(Math.max(value, low), high), `${plain(low)} to ${plain(high)}`);
    },
    set(next, text = usual) {
      [value, usual] = [next, text];
      slider.value = number.value = String(next);
      return take();
    },
  };
}
