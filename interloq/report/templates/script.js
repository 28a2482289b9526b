"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  root.classList.add("script");

  // light and dark: kept only as long as the page is open
  const theme = document.getElementById("theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
  const sayTheme = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
    theme.setAttribute("aria-pressed", String(isDark()));
  };
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; sayTheme(); });
  prefersDark.addEventListener("change", sayTheme);
  sayTheme();

  // tables: a click on a column's head sorts the rows of each group; missing values stay last
  const key = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.sort ?? cell.textContent.trim();
    const number = Number(text.replace(/[,\s<]/g, ""));
    return text === "" || text === "n/a" ? null : Number.isNaN(number) ? text : number;
  };
  const texts = new Intl.Collator();
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : texts.compare(String(a), String(b)));
  const sort = (table, head, column) => {
    const numeric = head.classList.contains("num") || all(".rows tr", table).some((row) => row.cells[column].dataset.sort);
    const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : numeric;
    all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    for (const body of all(".rows", table)) {
      const rows = all("tr", body).map((row) => [key(row, column), row]);
      rows.sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : compare(a, b) * (down ? -1 : 1)));
      body.append(...rows.map((row) => row[1]));
    }
  };
  const onHead = (head, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", act);
  };
  for (const table of all("table.sortable")) {
    all("thead th", table).forEach((head, column) => {
      if (!("unsorted" in head.dataset)) onHead(head, () => sort(table, head, column));
    });
  }

  const line = (text, kind) => {
    const div = document.createElement("div");
    div.className = kind;
    div.dir = "auto";
    div.textContent = text;
    return div;
  };

  // samples: all are data, and only those shown are elements, so that thousands stay fast
  const samples = JSON.parse(document.getElementById("rows").textContent);
  const table = document.getElementById("sample-table");
  const systems = all("#system option").slice(1).map((option) => option.value);
  for (const row of samples) row[1] = systems[row[1]];
  let findSample = () => {}, onlySystem = () => {};

  // scatter plots: one at a time, and the sample of a point
  const choose = document.getElementById("metric");
  const show = () => all(".plot").forEach((plot) => plot.classList.toggle("chosen", plot.id === choose.value));
  if (choose) { choose.addEventListener("change", () => { show(); showMatches(); }); show(); }

  const tip = document.getElementById("tip");
  let here = null;
  const place = () => {
    const at = here.getBoundingClientRect();
    const left = Math.min(at.right + 10, innerWidth - tip.offsetWidth - 12);
    const below = at.bottom + 8 + tip.offsetHeight < innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below ? at.bottom + 8 : Math.max(8, at.top - tip.offsetHeight - 8)}px`;
  };
  const leave = () => { tip.hidden = true; here?.classList.remove("here"); here = null; };
  const point = (mark) => {
    leave();
    here = mark;
    mark.classList.add("here");
    const [id, system, last, response] = samples[Number(mark.dataset.text)];
    tip.replaceChildren(line(`${id} · ${system}`, "id"), line(mark.dataset.values, "values"));
    if (last) tip.append(line(last, "texts"));
    tip.append(line(`→ ${response}`, "reply"));
    tip.hidden = false;
    place();
  };
  const points = new Map(); // plot → its points
  for (const plot of all(".scatter")) {
    const marks = all(".points use", plot);
    points.set(plot, marks);
    for (const mark of marks) { // the browser's own tooltip would cover ours
      const title = mark.querySelector("title");
      mark.dataset.values = title.textContent.split("\n").at(-1); // ids may have several lines
      title.remove();
    }
    marks.sort((a, b) => a.x.baseVal.value - b.x.baseVal.value || b.y.baseVal.value - a.y.baseVal.value);
    plot.addEventListener("pointerover", (event) => { if (event.target.dataset.text) point(event.target); });
    plot.addEventListener("pointerout", leave);
    plot.addEventListener("click", (event) => { if (event.target.dataset.text) findSample(Number(event.target.dataset.text)); });
    plot.addEventListener("blur", leave);
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (event.key === "Escape") leave();
      if (event.key === "Enter" && here) findSample(Number(here.dataset.text));
      const found = marks.filter((mark) => !mark.classList.contains("out"));
      if (!step || !found.length) return;
      event.preventDefault();
      const at = found.indexOf(here);
      point(found[at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length]);
    });
  }
  addEventListener("scroll", () => { if (here) place(); }, { passive: true });
  const drawn = new Set([...points.values()].flat().map((mark) => Number(mark.dataset.text)));
  const showPoint = (index) => {
    const has = (plot) => points.get(plot).find((mark) => mark.dataset.text === String(index));
    const plots = [...points.keys()].filter(has);
    const plot = plots.find((one) => one.closest(".chosen")) ?? plots[0];
    choose.value = plot.closest(".plot").id;
    choose.dispatchEvent(new Event("change"));
    plot.focus({ preventScroll: true });
    plot.scrollIntoView({ block: "center", behavior: "instant" });
    point(has(plot));
  };
  const linked = document.getElementById("linked");
  const showMatches = () => {
    const marks = points.get(document.querySelector(".plot.chosen .scatter")) ?? [];
    const found = marks.filter((mark) => !mark.classList.contains("out")).length;
    linked.textContent = found === marks.length ? "" : `${found.toLocaleString("en")} of ${marks.length.toLocaleString("en")} points match the filters.`;
  };
  for (const item of all(".legend li")) onHead(item, () => onlySystem(item.dataset.system));

  // the table: filters apply to it and to the plots
  if (table) {
    const [find, context, found, more] = ["find", "context", "found", "more"].map((id) => document.getElementById(id));
    const selects = all(".filters select");
    const system = selects[0];
    const clears = all(".clear");
    const place = Number(context.dataset.field);
    const searched = samples.map(([id, , last, reply]) => `${id}\n${last}\n${reply}`.toLowerCase());
    const sizes = new Map();
    for (const row of samples) sizes.set(row[place], (sizes.get(row[place]) ?? 0) + 1);
    const heads = all("thead th", table);
    let matching = [], shown = 0, by = null, sign = 1, only = null;
    const button = (text, label, act) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = text;
      made.setAttribute("aria-label", label);
      made.addEventListener("click", act);
      return made;
    };
    const actions = (index) => {
      const [id, name] = samples[index];
      const same = samples[index][place];
      const made = [];
      if (drawn.has(index)) made.push(button("in the plot", `Show ${id} of ${name} in the plot`, () => showPoint(index)));
      if (same !== null && sizes.get(same) > 1 && only !== same) {
        made.push(button(`same context: ${sizes.get(same)}`, `Show the replies to the context of ${id}`, () => { clear(); only = same; filter(); find.focus(); }));
      }
      return made;
    };
    const element = (index) => {
      const row = document.createElement("tr");
      row.setAttribute("role", "row");
      for (const head of heads) {
        const cell = row.insertCell();
        cell.setAttribute("role", "cell");
        cell.dataset.label = head.dataset.label ?? "";
        const value = samples[index][head.dataset.field];
        cell.className = head.className;
        if (head.dataset.field === "3" && samples[index][2]) cell.append(line(samples[index][2], "quiet"));
        cell.append(line(value === null ? "n/a" : value, ""));
        if (head.dataset.field === "0") cell.append(...actions(index));
      }
      return row;
    };
    const grow = () => {
      const next = matching.slice(shown, shown + 25);
      table.tBodies[0].append(...next.map(element));
      shown += next.length;
      more.hidden = shown === matching.length;
      found.textContent = `${matching.length.toLocaleString("en")} found, ${shown.toLocaleString("en")} shown`;
    };
    const order = (a, b) => {
      const [x, y] = [samples[a][by], samples[b][by]];
      return (x === null) - (y === null) || (x === null ? 0 : compare(x, y) * sign) || a - b;
    };
    const clear = () => { [find, ...selects].forEach((input) => { input.value = ""; }); only = null; };
    const filter = () => {
      const words = find.value.toLowerCase().split(/\s+/);
      const chosen = selects.filter((select) => select.value).map((select) => [select.dataset.field, select.value]);
      const fits = (row, i) => (only === null || row[place] === only)
        && chosen.every(([field, value]) => String(row[field]) === value) && words.every((word) => searched[i].includes(word));
      matching = [...samples.keys()].filter((i) => fits(samples[i], i));
      const within = new Set(matching);
      for (const marks of points.values()) for (const mark of marks) mark.classList.toggle("out", !within.has(Number(mark.dataset.text)));
      all(".legend li").forEach((item) => item.firstChild.setAttribute("aria-pressed", String(item.dataset.system === system.value)));
      context.hidden = only === null;
      clears.forEach((one) => { one.hidden = !find.value.trim() && !chosen.length && only === null; });
      if (linked) showMatches();
      if (by !== null) matching.sort(order);
      table.tBodies[0].replaceChildren();
      shown = 0;
      grow();
    };
    for (const head of heads) {
      onHead(head, () => {
        const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : head.classList.contains("num");
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        [by, sign] = [Number(head.dataset.field), down ? -1 : 1];
        filter();
      });
    }
    find.addEventListener("input", filter);
    selects.forEach((select) => select.addEventListener("change", filter));
    context.addEventListener("click", () => { only = null; filter(); find.focus(); });
    clears.forEach((one) => one.addEventListener("click", () => { const inPlots = one.closest(".linked"); clear(); filter(); (inPlots ? choose : find).focus(); }));
    more.addEventListener("click", grow);
    filter();
    onlySystem = (name) => { system.value = system.value === name ? "" : name; filter(); };
    findSample = (index) => {
      clear();
      [find.value, system.value] = [samples[index][0], samples[index][1]];
      filter();
      find.scrollIntoView({ block: "center" });
      find.focus();
    };
  }

  // signatures: copied, or at least selected where the browser does not let us
  for (const button of all(".copy")) {
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      getSelection().selectAllChildren(code);
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Selected";
      }
    });
  }

  // paper cannot unfold
  let closed = [];
  addEventListener("beforeprint", () => { closed = all("details:not([open])"); closed.forEach((fold) => { fold.open = true; }); });
  addEventListener("afterprint", () => closed.forEach((fold) => { fold.open = false; }));
})();
