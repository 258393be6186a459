// The tables of label sets: search, filter, sort, page through. Names are only ever set as text.
"use strict";

const PAGE = 20;
const PRINTED = 100;
const SHOWN_NAMES = 6;
const VERDICTS = [
  { status: 0, kind: "cannot", words: "cannot" },
  { status: 1, kind: "can", words: "can" },
  { status: -1, kind: "undecided", words: "undecided" },
];
const HOLDS = new Map([[true, "holds"], [false, "not shown"], [null, "–"]]);
const WAYS = {
  verdict: [[1, "cannot first"], [-1, "can first"]],
  labels: [[1, "A to Z"], [-1, "Z to A"]],
  text: [[1, "A to Z"], [-1, "Z to A"]],
  holds: [[1, "not shown first"], [-1, "holds first"]],
};
const DESCENDING_FIRST = new Set(["count", "number", "stretch"]);

function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  Object.assign(node, properties);
  node.append(...children);
  return node;
}

function writeCount(value) {
  return value === null ? "–" : value.toLocaleString("en-US");
}

// Three digits that count, as the report's other numbers are written.
function writeNumber(value) {
  if (value === null) return "–";
  if (value === 0) return "0";
  const [mantissa, exponent] = value.toExponential(2).split("e");
  const power = Number(exponent);
  if (power < -4 || power >= 6) {
    const raised = String(power).replace(/[-0-9]/g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
    return `${mantissa}·10${raised}`;
  }
  const digits = Math.max(0, 2 - power);
  const format = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return Number(value.toPrecision(3)).toLocaleString("en-US", format);
}

// A proven stretch, rounded down; null is infinite.
function writeTimes(value) {
  if (value === null) return "∞";
  if (value <= 0) return "0";
  const digits = Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(value))));
  const format = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return (Math.floor(value * 10 ** digits + 1e-9) / 10 ** digits).toLocaleString("en-US", format);
}

// One group of label sets, with its values by the columns' keys.
function readGroup(group) {
  const values = {};
  group.columns.forEach((column, i) => { values[column.key] = group.values[i]; });
  values.size = values.labels.map((labels) => labels.length);
  const status = values.verdict.map(([verdict]) => verdict);
  return { title: group.title, columns: group.columns, values, status };
}

function search(names, group, query) {
  const words = query.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const all = group.status.map((_, i) => i);
  if (!words.length) return all;
  const low = names.lower ??= names.map((name) => name.toLocaleLowerCase());
  const hits = words.map((word) => low.map((name) => name.includes(word)));
  const own = group.values.name?.map((name) => name.toLocaleLowerCase());
  return all.filter((i) => words.every((word, w) =>
    group.values.labels[i].some((label) => hits[w][label]) || Boolean(own?.[i].includes(word))));
}

// What a column is sorted by; what is not known comes last either way.
function sortKey(column, group, names) {
  const values = group.values[column.key];
  if (column.kind === "verdict") return (i) => VERDICTS.findIndex((v) => v.status === group.status[i]);
  if (column.kind === "labels") return (i) => values[i].map((label) => names[label]).join(", ");
  if (column.kind === "stretch") return (i) => values[i] ?? Infinity;
  if (column.kind === "holds") return (i) => (values[i] === null ? null : Number(values[i]));
  return (i) => values[i];
}

function sorted(indices, key, direction) {
  const keyed = indices.map((i) => [key(i), i]);
  keyed.sort(([a, i], [b, j]) => {
    if (a === null || b === null) return (a === null) - (b === null) || i - j;
    if (a === b) return i - j;
    return direction * (typeof a === "string" ? a.localeCompare(b) : a - b);
  });
  return keyed.map(([, i]) => i);
}

function namesCell(labels, names) {
  const list = make("span", { className: "names" });
  const between = labels.some((label) => names[label].includes(",")) ? "; " : ", ";
  const show = (from, to) => labels.slice(from, to).forEach((label, k) => {
    if (from + k) list.append(make("span", { className: "comma" }, between));
    list.append(make("bdi", {}, names[label]));
  });
  if (!labels.length) list.append(make("span", { className: "none" }, "the empty set"));
  show(0, SHOWN_NAMES);
  const rest = labels.length - SHOWN_NAMES;
  if (rest > 0) {
    const more = make("button", { type: "button", className: "more" }, `and ${rest} more`);
    more.addEventListener("click", () => {
      more.previousSibling.remove();
      more.remove();
      show(SHOWN_NAMES);
      list.tabIndex = -1;
      list.focus();
    });
    list.append(" ", more);
  }
  return [list];
}

function verdictCell([status, anchor]) {
  const { kind, words } = VERDICTS.find((verdict) => verdict.status === status);
  const cell = [make("span", { className: `verdict ${kind}` }, words)];
  if (anchor) cell.push(" ", make("a", { className: "why", href: `#${anchor}` }, "why"));
  return cell;
}

function cellOf(column, value, names) {
  switch (column.kind) {
    case "verdict": return verdictCell(value);
    case "labels": return namesCell(value, names);
    case "count": return [make("bdi", {}, writeCount(value))];
    case "stretch": return [make("bdi", {}, writeTimes(value))];
    case "number": return [make("bdi", {}, writeNumber(value))];
    case "holds": return [make("bdi", {}, HOLDS.get(value))];
    default: return [make("bdi", {}, value)];
  }
}

function rowOf(group, i, names) {
  const row = make("tr", {});
  for (const column of group.columns) {
    const value = group.values[column.key][i];
    const className = value === null && column.kind !== "stretch" ? `${column.kind} unknown` : column.kind;
    const cell = make("td", { className }, ...cellOf(column, value, names));
    cell.dataset.title = column.title;
    row.append(cell);
  }
  return row;
}

function start(section) {
  const data = JSON.parse(document.getElementById(section.dataset.sets).textContent);
  const names = data.names;
  const groups = data.groups.map(readGroup);
  const find = (selector) => section.querySelector(selector);
  const form = find("form.controls");
  const table = find("table.verdicts");
  const state = { group: groups[0], query: "", verdict: "all", sort: null, direction: 1, page: 0, found: [] };

  function update() {
    const { group } = state;
    const hits = search(names, group, state.query);
    countVerdicts(hits);
    const chosen = state.verdict === "all" ? hits : hits.filter((i) => String(group.status[i]) === state.verdict);
    const column = group.columns.find((one) => one.key === state.sort);
    state.found = column ? sorted(chosen, sortKey(column, group, names), state.direction) : chosen;
    state.page = 0;
    draw();
  }

  function draw(size = PAGE) {
    const first = state.page * PAGE;
    const shown = state.found.slice(first, first + size);
    table.tBodies[0].replaceChildren(...shown.map((i) => rowOf(state.group, i, names)));
    const total = state.found.length;
    const range = total > shown.length ? `${writeCount(first + 1)}–${writeCount(first + shown.length)} of ` : "";
    find(".status").textContent = total
      ? `${range}${writeCount(total)} label set${total === 1 ? "" : "s"}${order()}`
      : "No label set is like that.";
    const pages = Math.max(1, Math.ceil(total / PAGE));
    find(".pages").hidden = pages === 1;
    find(".page").textContent = `Page ${writeCount(state.page + 1)} of ${writeCount(pages)}`;
    find("[name=previous]").disabled = state.page === 0;
    find("[name=next]").disabled = state.page === pages - 1;
    for (const head of table.tHead.rows[0].cells) {
      const sort = head.dataset.key === state.sort ? (state.direction > 0 ? "ascending" : "descending") : "none";
      head.setAttribute("aria-sort", sort);
    }
    form.elements.sort.value = state.sort ? `${state.sort} ${state.direction}` : "";
  }

  // Says how the label sets come from the audit.
  function order() {
    const { group, verdict, sort } = state;
    if (sort) return "";
    const hints = [];
    if (verdict === "all" && group.status.includes(0)) hints.push("those that cannot be predicted first");
    if (new Set(group.values.examples).size > 1) hints.push("the most frequent first");
    return hints.length ? `; ${hints.join(", ")}` : "";
  }

  function sortBy(key, direction) {
    Object.assign(state, { sort: key, direction });
    update();
  }

  function headOf(column) {
    const button = make("button", { type: "button", className: "sorter" }, column.title);
    const head = make("th", { scope: "col", className: column.kind }, button);
    head.dataset.key = column.key;
    button.addEventListener("click", () => {
      const usual = DESCENDING_FIRST.has(column.kind) ? -1 : 1;
      sortBy(column.key, state.sort === column.key ? -state.direction : usual);
    });
    return head;
  }

  function showGroup(group) {
    Object.assign(state, { group, verdict: "all", sort: null });
    table.tHead.rows[0].replaceChildren(...group.columns.map(headOf));
    const choices = group.columns.flatMap((column) => {
      const ways = WAYS[column.kind] ?? [[-1, "largest first"], [1, "smallest first"]];
      return ways.map(([way, words]) => make("option", { value: `${column.key} ${way}` }, `${column.title}, ${words}`));
    });
    form.elements.sort.replaceChildren(make("option", { value: "" }, "As in the audit"), ...choices);
    makeFilter();
    update();
  }

  function makeFilter() {
    const kinds = [{ status: "all", kind: "all", words: "all" }, ...VERDICTS];
    const present = kinds.filter(({ status }) => status === "all" || state.group.status.includes(status));
    const choices = present.map(({ status, kind, words }) => {
      const name = `${section.dataset.sets}-verdict`;
      const input = make("input", { type: "radio", name, value: String(status), checked: status === "all" });
      input.addEventListener("change", () => { state.verdict = input.value; update(); });
      const count = make("span", { className: "count" });
      count.dataset.status = String(status);
      return make("label", {}, input, make("span", { className: `verdict ${kind}` }, words), " ", count);
    });
    find(".filter").replaceChildren(find(".filter legend"), ...choices);
  }

  function countVerdicts(hits) {
    const counts = { all: hits.length };
    for (const i of hits) counts[state.group.status[i]] = (counts[state.group.status[i]] ?? 0) + 1;
    for (const node of form.querySelectorAll(".count")) node.textContent = writeCount(counts[node.dataset.status] ?? 0);
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.elements.search.addEventListener("input", () => { state.query = form.elements.search.value; update(); });
  form.elements.sort.addEventListener("change", () => {
    const [key, direction] = form.elements.sort.value.split(" ");
    sortBy(key || null, Number(direction ?? 1));
  });
  form.elements.group.replaceChildren(...groups.map((group, i) => make("option", { value: String(i) }, group.title)));
  form.elements.group.addEventListener("change", () => showGroup(groups[Number(form.elements.group.value)]));
  find(".field.group").hidden = groups.length === 1;
  for (const [name, step] of [["previous", -1], ["next", 1]]) {
    find(`[name=${name}]`).addEventListener("click", () => {
      state.page += step;
      draw();
      table.scrollIntoView({ block: "nearest" });
    });
  }
  addEventListener("beforeprint", () => draw(PRINTED));
  addEventListener("afterprint", () => draw());
  form.hidden = false;
  showGroup(state.group);
}

document.querySelectorAll("[data-sets]").forEach(start);

// Audits of several models are folded: a link to one opens it, and all are printed.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let node = target?.closest("details"); node; node = node.parentElement.closest("details")) node.open = true;
  target?.scrollIntoView();
}

const folded = [...document.querySelectorAll("details.audit")];
let closed = [];
addEventListener("hashchange", reveal);
addEventListener("beforeprint", () => {
  closed = folded.filter((one) => !one.open);
  closed.forEach((one) => { one.open = true; });
});
addEventListener("afterprint", () => closed.forEach((one) => { one.open = false; }));
if (location.hash) reveal();
