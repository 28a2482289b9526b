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
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
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
  let findSample = () => {};
  if (table) {
    const [find, system, found, more] = ["find", "system", "found", "more"].map((id) => document.getElementById(id));
    const searched = samples.map(([id, , last, reply]) => `${id}\n${last}\n${reply}`.toLowerCase());
    const heads = all("thead th", table);
    let matching = [], shown = 0, by = null, sign = 1;
    const element = (index) => {
      const row = document.createElement("tr");
      for (const head of heads) {
        const cell = row.insertCell();
        const value = samples[index][head.dataset.field];
        cell.className = head.className;
        if (head.dataset.field === "3" && samples[index][2]) cell.append(line(samples[index][2], "quiet"));
        cell.append(line(value === null ? "n/a" : value, ""));
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
    const filter = () => {
      const words = find.value.toLowerCase().split(/\s+/);
      const fits = (row, i) => (!system.value || row[1] === system.value) && words.every((word) => searched[i].includes(word));
      matching = [...samples.keys()].filter((i) => fits(samples[i], i));
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
    system.addEventListener("change", filter);
    more.addEventListener("click", grow);
    filter();
    findSample = (index) => {
      [find.value, system.value] = [samples[index][0], samples[index][1]];
      filter();
      find.scrollIntoView({ block: "center" });
      find.focus();
    };
  }

  // scatter plots: one at a time, and what a point says
  const choose = document.getElementById("metric");
  const show = () => all(".plot").forEach((plot) => plot.classList.toggle("chosen", plot.id === choose.value));
  if (choose) { choose.addEventListener("change", show); show(); }

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
  for (const plot of all(".scatter")) {
    const marks = all(".points use", plot);
    for (const mark of marks) { // the browser's own tooltip would stand on top of ours
      const title = mark.querySelector("title");
      mark.dataset.values = title.textContent.split("\n").at(-1); // ids may have lines of their own
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
      if (!step || !marks.length) return;
      event.preventDefault();
      const at = marks.indexOf(here);
      point(marks[at < 0 ? (step > 0 ? 0 : marks.length - 1) : (at + step + marks.length) % marks.length]);
    });
  }
  addEventListener("scroll", () => { if (here) place(); }, { passive: true });

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
