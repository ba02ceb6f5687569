"use strict";
(() => {
  const root = document.documentElement;

  // The theme follows the system until the reader chooses one.
  const themes = ["automatic", "light", "dark"];
  const button = document.getElementById("theme");
  const remembered = () => {
    try {
      return localStorage.getItem("softgate-theme");
    } catch {
      return null; // a browser may refuse storage for a file
    }
  };
  const show = (theme) => {
    if (theme === "automatic") delete root.dataset.theme;
    else root.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  let theme = themes.includes(remembered()) ? remembered() : "automatic";
  show(theme);
  button.style.visibility = "visible";
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    show(theme);
    try {
      localStorage.setItem("softgate-theme", theme);
    } catch {
      // the choice lasts for this visit only
    }
  });

  // Charts: each SVG is replaced by a live view of the same size.
  const views = new Map();
  const waiting = new Map();
  const width = (element) => Math.max(200, Math.floor(element.clientWidth));
  const specs = new Map();
  const specification = (id) => {
    if (!specs.has(id)) {
      specs.set(id, JSON.parse(document.getElementById(`chart-data-${id}`).textContent));
    }
    return specs.get(id);
  };
  const activate = async (element) => {
    const spec = specification(element.id);
    spec.width = width(element);
    const host = document.createElement("div");
    host.className = "live";
    host.setAttribute("aria-hidden", "true"); // the surrounding element has the text alternative
    const { view } = await vegaEmbed(host, spec, {
      mode: "vega",
      renderer: "svg",
      ast: true, // expressions are interpreted: the page forbids evaluating code
      actions: false,
      defaultStyle: false,
      tooltip: { theme: "custom", disableDefaultStyle: true },
      loader: { load: () => Promise.reject(new Error("nothing is loaded")) },
    });
    element.replaceChildren(host);
    element.dataset.live = "true";
    return view;
  };
  const start = (id) => {
    if (!waiting.has(id)) {
      const element = document.getElementById(id);
      const begun = activate(element).then((view) => {
        views.set(id, view);
        return view;
      });
      waiting.set(id, begun);
    }
    return waiting.get(id);
  };
  const pause = () => new Promise((resume) => setTimeout(resume, 0));
  const all = async () => {
    for (const element of document.querySelectorAll(".chart")) {
      await pause(); // so that the reader can scroll meanwhile
      await start(element.id);
    }
    root.dataset.ready = "true";
  };

  let resizing = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(() => {
      for (const [id, view] of views) {
        view.width(width(document.getElementById(id))).runAsync();
      }
    });
  });

  // For the sections' scripts: a chart's live view, all live views, and the first data set of a chart.
  const rows = (id) => specification(id).data.find((set) => set.values)?.values ?? [];
  // Buttons that show and hide lines of charts; each chart has the shown names in its signal `shown`.
  const toggle = (id, charts) => {
    const group = document.getElementById(id);
    group.addEventListener("click", async (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
      const pressed = [...group.querySelectorAll("[aria-pressed=true]")];
      const names = pressed.map((one) => one.dataset.name);
      for (const chart of charts) {
        const view = await start(chart);
        await view.signal("shown", names).runAsync();
      }
      group.dispatchEvent(new CustomEvent("shown", { detail: names }));
    });
  };
  window.softgate = { view: start, views, rows, toggle, ready: null };
  window.softgate.ready = new Promise((done) => {
    addEventListener("load", () => setTimeout(() => done(all()), 0));
  });

  // The section in view is marked in the navigation.
  const links = new Map(
    [...document.querySelectorAll("nav a")].map((link) => [link.getAttribute("href").slice(1), link])
  );
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links.values()) link.removeAttribute("aria-current");
        links.get(entry.target.id)?.setAttribute("aria-current", "true");
      }
    },
    { rootMargin: "-20% 0px -70% 0px" }
  );
  for (const section of document.querySelectorAll("main > section")) seen.observe(section);
})();
