// The selected activation: its functions, parameters and integration panels.

const chosen = { choice: CHOICES[0], parameters: [], f: null, edges: [], breaks: [] };

const kernelsOf = (choice) => (choice.own ? OWN[choice.name] : KERNELS);

// The emitted functions with their parameters filled in.
function functionsOf(choice, parameters) {
  const kernels = kernelsOf(choice), value = kernels[choice.name];
  const slope = kernels[`${choice.name}_slope`];
  if (parameters.length === 0) return { value: (x) => value(x), slope: (x) => slope(x) };
  const [a, b] = parameters;
  if (parameters.length === 1) return { value: (x) => value(x, a), slope: (x) => slope(x, a) };
  if (parameters.length === 2) return { value: (x) => value(x, a, b), slope: (x) => slope(x, a, b) };
  return { value: (x) => value(x, ...parameters), slope: (x) => slope(x, ...parameters) };
}

const meshes = new Map();
function pick(choice, parameters) {
  const f = functionsOf(choice, parameters), key = [choice.own, choice.name, ...parameters].join();
  if (!meshes.has(key)) {
    if (meshes.size > 99) meshes.clear();
    meshes.set(key, mesh(f));
  }
  Object.assign(chosen, { choice, parameters, f, ...meshes.get(key) });
}

// The reason that a parameter's value is not accepted, or ""; the same rules as `Parameter.check`.
function refused(parameter, value, others) {
  const { above, below, closed, exceeds, range } = parameter;
  const low = above === null || value > above || (closed && value === above);
  const inside = low && (below === null || value < below);
  if (inside && (exceeds === "" || value > others[exceeds])) return "";
  return `${parameter.name} must be ${range}`;
}

// The row of each parameter; unused rows are invisible but keep their space.
function parameterFields(changed) {
  const values = () => chosen.choice.parameters.map((_, i) => fields[i].value);
  const named = () =>
    Object.fromEntries(chosen.choice.parameters.map((p, i) => [p.name, fields[i].value]));
  const recheck = () => {
    const all = chosen.choice.parameters.map((p, i) => fields[i].recheck());
    if (all.every(Boolean)) pick(chosen.choice, values());
    if (all.every(Boolean)) changed();
  };
  const fields = [0, 1].map((i) =>
    field(`parameter-${i}`, recheck, (value) => {
      const parameter = chosen.choice.parameters[i];
      return parameter ? refused(parameter, value, named()) : "";
    }),
  );
  return (choice) => {
    chosen.choice = choice;
    for (const [i, input] of fields.entries()) {
      const parameter = choice.parameters[i], row = byId(`parameter-${i}-row`);
      row.classList.toggle("pg-unused", !parameter);
      input.slider.disabled = input.number.disabled = !parameter;
      if (!parameter) continue;
      byId(`parameter-${i}-label`).textContent = parameter.name;
      input.number.setAttribute("aria-label", `${parameter.name}, as a number`);
      Object.assign(input.slider, { min: parameter.low, max: parameter.high, step: parameter.step });
      input.set(parameter.default, parameter.hint);
    }
    say("parameter-none", choice.parameters.length > 0 ? "" : choice.without);
    pick(choice, values());
  };
}
