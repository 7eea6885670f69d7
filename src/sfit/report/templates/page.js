"use strict";

// Light or dark: the reader's choice, else the system's setting.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to the ${isDark() ? "light" : "dark"} theme`); };
  const remember = (theme) => { try { localStorage.setItem("sfit-theme", theme); } catch { /* private mode */ } };
  try { const kept = localStorage.getItem("sfit-theme"); if (kept === "dark" || kept === "light") root.dataset.theme = kept; } catch { /* private mode */ }
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    name();
  });
  system.addEventListener("change", name);
  button.hidden = false;
  name();
})();

// Put text on the clipboard; the older way where the page may not.
const put = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("the browser refused");
  }
};

// Tables: sort by any column, filter by name or verdict, copy the visible rows.
for (const block of document.querySelectorAll(".block:has(table.sets)")) {
  const table = block.querySelector("table.sets");
  const body = table.tBodies[0];
  const headers = [...table.tHead.rows[0].cells];
  const rows = [...body.rows];
  const [search, significant, copy, status] = ["[type=search]", "[type=checkbox]", ".copy", ".status"]
    .map((selector) => block.querySelector(selector));
  const isNumber = (plain) => !Number.isNaN(Number(plain.replace("inf", "Infinity")));
  const value = (row, column) => {
    const cell = row.cells[column];
    const plain = cell.dataset.v ?? cell.textContent;
    if (!("v" in cell.dataset) || !isNumber(plain)) return plain.toLowerCase();
    return plain === "" ? NaN : Number(plain.replace("inf", "Infinity"));
  };

  const compare = (a, b) => {
    if (typeof a === "string" || typeof b === "string") return String(a).localeCompare(String(b), undefined, { numeric: true });
    // Cells without a number come last in either direction.
    return a - b;
  };
  const sort = (column) => {
    const header = headers[column];
    const ascending = header.getAttribute("aria-sort") === "descending"
      || (header.getAttribute("aria-sort") === "none" && header.classList.contains("name"));
    for (const other of headers) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const keyed = rows.map((row) => [value(row, column), row]);
    const missing = keyed.filter(([key]) => Number.isNaN(key));
    const present = keyed.filter(([key]) => !Number.isNaN(key));
    present.sort(([a], [b]) => (ascending ? compare(a, b) : compare(b, a)));
    body.append(...[...present, ...missing].map(([, row]) => row));
  };
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    button.addEventListener("click", () => sort(column));
    // Plain words on paper: a header repeated on the next page has no buttons.
    const words = document.createElement("span");
    words.className = "on-paper";
    words.textContent = header.textContent;
    header.replaceChildren(button, words);
    header.setAttribute("aria-sort", "none");
  });

  const filter = () => {
    const words = search.value.toLowerCase();
    let visible = 0;
    for (const row of rows) {
      const names = [...row.querySelectorAll("th")].map((cell) => cell.textContent).join(" ").toLowerCase();
      row.hidden = !names.includes(words) || (significant.checked && !row.classList.contains("yes"));
      visible += !row.hidden;
    }
    status.textContent = `${visible.toLocaleString("en")} of ${rows.length.toLocaleString("en")} ${table.dataset.rows}`;
  };
  search.addEventListener("input", filter);
  significant.addEventListener("change", filter);

  // A spreadsheet would run a name that starts like a formula: a quote keeps it text.
  const safe = (text) => text.replace(/^\s*[=+\-@]/, "'$&");
  const field = (cell) => {
    const v = cell.dataset.v;
    const plain = v !== undefined && isNumber(v) ? v : safe(v ?? cell.textContent);
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  copy.addEventListener("click", async () => {
    const visible = [...body.rows].filter((row) => !row.hidden);
    const lines = [headers.map((header) => header.dataset.key).join(",")];
    for (const row of visible) lines.push([...row.cells].map(field).join(","));
    try {
      await put(`${lines.join("\r\n")}\r\n`);
      status.textContent = `${visible.length.toLocaleString("en")} rows copied`;
    } catch {
      status.textContent = "The browser does not let this page copy: select the table instead.";
    }
    copy.focus();
  });

  block.querySelector(".tools").hidden = false;
  filter();
}

// Code: copy it.
for (const button of document.querySelectorAll(".copy-code")) {
  button.addEventListener("click", async () => {
    try {
      await put(button.parentElement.querySelector("code").textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select the code to copy it";
    }
    button.focus();
  });
  button.hidden = false;
}

// Contents: open where they stand beside the text. On paper everything folded is open.
(() => {
  const wide = matchMedia("(min-width: 90rem)");
  const contents = document.querySelector(".toc details");
  const show = () => { if (contents) contents.open = wide.matches; };
  wide.addEventListener("change", show);
  show();
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("main details:not([open])")];
    for (const one of closed) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
})();

// Tooltips without delay and in full, instead of the browser's.
(() => {
  const box = document.getElementById("tip");
  for (const mark of document.querySelectorAll(".tip")) {
    const title = mark.querySelector("title");
    mark.dataset.tip = title.textContent;
    title.remove();
    mark.addEventListener("pointermove", (event) => {
      box.textContent = mark.dataset.tip;
      box.hidden = false;
      const left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
      const below = event.clientY + 18;
      const top = below + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 12 : below;
      box.style.left = `${Math.max(left, 8)}px`;
      box.style.top = `${top}px`;
    });
    mark.addEventListener("pointerleave", () => { box.hidden = true; });
  }
})();
