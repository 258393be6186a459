// State, links and requests. The address after # holds the combination, so that every one has its own link.

import { Combobox } from "./combobox.js";
import { showDrawing } from "./drawing.js";
import { element, knowsName, labelName, learnNames, nameOf, plural } from "./elements.js";
import { showInputs, showStretch } from "./inputs.js";
import { restate, showBoundary, showConflict, showNearest, showSimilar, showStatuses, showVerdict } from "./panels.js";

const QUICK = 0.15; // seconds
const THOROUGH = 3;
const WAIT = 15; // for the thorough answer, which may stand in line behind other pages'
const N_SIMILAR = 8;
const PATIENCE = 300; // milliseconds, after which old answers fade

const find = (id) => document.getElementById(id);
const panels = Object.fromEntries(["verdict", "inputs", "why", "near", "drawing", "similar"].map((id) => [id, find(id)]));
const page = crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2);
let model = null;
let chips = []; // { label, on }, in the order in which they came
let asked = new AbortController();
let drawn = null; // what the last drawing was made of

const activeLabels = () => chips.filter((chip) => chip.on).map((chip) => chip.label).sort((a, b) => a - b);

// Links

function readAddress() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const read = (key) => (fields.get(key) ?? "").split(",").filter((part) => /^\d{1,9}$/.test(part)).map(Number);
  const seen = new Set();
  const known = (label) => label < model.n_labels && !seen.has(label) && seen.add(label);
  const on = read("labels").filter(known).slice(0, model.most_labels);
  const off = read("off").filter(known).slice(0, model.most_labels);
  return [...on.map((label) => ({ label, on: true })), ...off.map((label) => ({ label, on: false }))];
}

function writeAddress() {
  const off = chips.filter((chip) => !chip.on).map((chip) => chip.label);
  const address = `#labels=${activeLabels().join(",")}${off.length ? `&off=${off.join(",")}` : ""}`;
  if (address !== location.hash) history.pushState(null, "", address);
}

// Changes of the combination

function change(next) {
  if (next.filter((chip) => chip.on).length > model.most_labels)
    return complain(`A combination may have ${plural(model.most_labels, "label")} here, not more.`);
  chips = next;
  writeAddress();
  render();
}

const add = (label) => change([...chips.filter((chip) => chip.label !== label), { label, on: true }]);
const remove = (label) => change(chips.filter((chip) => chip.label !== label));
const toggle = (label) => change(chips.map((chip) => (chip.label === label ? { label, on: !chip.on } : chip)));

// Another combination: what it lacks stays as chips that are off, so that one can go back.
function go(labels) {
  const wanted = new Set(labels);
  const kept = chips.map((chip) => ({ label: chip.label, on: wanted.has(chip.label) }));
  const have = new Set(chips.map((chip) => chip.label));
  change([...kept, ...labels.filter((label) => !have.has(label)).map((label) => ({ label, on: true }))]);
  panels.verdict.scrollIntoView({ block: "nearest" });
}

// Requests

async function ask(path, question, signal) {
  const body = JSON.stringify(question);
  const options = { method: "POST", headers: { "content-type": "application/json" }, body, signal };
  const response = await fetch(`/api/${path}`, options).catch((error) => {
    throw error.name === "AbortError" ? error : new Error("The explorer does not answer; is it still running?");
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  learnNames(answer);
  return answer;
}

function complain(words) {
  const trouble = find("trouble");
  trouble.textContent = words;
  trouble.hidden = !words;
}

const sentence = ({ message }) => message[0].toUpperCase() + message.slice(1) + (/[.?]$/.test(message) ? "" : ".");

async function render() {
  asked.abort();
  asked = new AbortController();
  const { signal } = asked;
  const labels = activeLabels();
  complain("");
  renderChips();
  document.body.setAttribute("aria-busy", "true");
  const waiting = setTimeout(() => document.body.classList.add("deciding"), PATIENCE);
  try {
    const others = chips.filter((chip) => !chip.on).map((chip) => chip.label);
    const verdict = await ask("verdict", { labels, others }, signal).finally(() => clearTimeout(waiting));
    document.body.classList.remove("deciding");
    renderChips();
    renderVerdict(verdict, labels);
    await Promise.all([stretch(verdict, labels, signal), explain(verdict, labels, signal), compare(verdict, labels, signal)]);
  } catch (error) {
    if (error.name === "AbortError") return;
    complain(sentence(error));
  }
  if (signal.aborted) return;
  document.body.removeAttribute("aria-busy");
  document.body.classList.remove("deciding");
}

function renderVerdict(verdict, labels) {
  showVerdict(panels.verdict, verdict, model);
  offerSlices([]);
  panels.near.hidden = true;
  panels.inputs.hidden = true;
  if (verdict.status === "unargmaxable") showConflict(panels.why, verdict, model);
  else panels.why.hidden = true;
  if (verdict.status !== "argmaxable") panels.drawing.hidden = true;
  document.title = `${plural(labels.length, "label")}: ${panels.verdict.querySelector(".headline").textContent}`;
}

// How far from real inputs it lies, where such are known.
async function stretch(verdict, labels, signal) {
  if (!model.inputs || !["argmaxable", "undecided"].includes(verdict.status)) return;
  const answer = await ask("stretch", { labels }, signal);
  showStretch(panels.verdict, answer, model);
  const write = () =>
    ask("trial", { labels }, signal).catch((error) => {
      if (error.name !== "AbortError") complain(sentence(error));
      throw error;
    });
  showInputs(panels.inputs, answer, { model, write });
}

async function explain(verdict, labels, signal) {
  const question = { labels, page };
  if (verdict.status === "argmaxable") {
    await Promise.all([
      ask("explanation", { ...question, seconds: THOROUGH }, signal).then((answer) => answer.is_cancelled || showBoundary(panels.why, answer, go)),
      draw(labels, [labels], true, signal),
    ]);
    return;
  }
  if (verdict.status !== "unargmaxable") return;
  const quick = await ask("explanation", { ...question, seconds: QUICK }, signal);
  if (quick.is_cancelled) return;
  const isFinal = quick.least_distance === null || quick.nearest.some((one) => one.is_minimal);
  showNearest(panels.near, quick, { go, isFinal });
  const first = draw(labels, nearestSet(quick), false, signal);
  first.catch(() => {}); // it is awaited below, unless the next question ends this one before
  let found = quick;
  try {
    const answer = await inTime(ask("explanation", { ...question, seconds: THOROUGH }, signal));
    if (!answer.is_cancelled) found = answer;
  } finally {
    if (!signal.aborted) showNearest(panels.near, found, { go, isFinal: true }); // whatever came: the search has ended
  }
  if (found !== quick) {
    showConflict(panels.why, found, model);
    restate(panels.verdict, { ...verdict, conflict: found.conflict }, model);
  }
  offerSlices(found.nearest.slice(1));
  await first;
  if (String(nearestSet(found)) !== String(nearestSet(quick))) await draw(labels, nearestSet(found), false, signal);
}

// The answer, or after a while that there is none.
function inTime(answer) {
  const late = new Promise((resolve) => setTimeout(resolve, 1000 * WAIT, { is_cancelled: true }));
  return Promise.race([answer, late]);
}

const nearestSet = (answer) => answer.nearest.slice(0, 1).map((one) => one.labels);

// The drawing, and through which other combination a slice may be laid

async function draw(labels, anchors, isCurrent, signal) {
  if (model.n_features < 2 || (!anchors.length && model.n_features > 2)) return;
  const answer = await ask("drawing", { labels, anchors }, signal);
  drawn = { labels, anchors, isCurrent, signal };
  showDrawing(panels.drawing, answer, { isCurrent, go, model });
}

function offerSlices(sets) {
  const written = ({ labels, added, removed }) => {
    const some = (list) => list.slice(0, 3).map(nameOf).join(", ") + (list.length > 3 ? ` and ${list.length - 3} more` : "");
    if (!added) return `through ${some(labels)}`;
    return [removed.length ? `without ${some(removed)}` : "", added.length ? `with ${some(added)}` : ""].filter(Boolean).join(", ");
  };
  const first = element("option", { value: "", text: "along the labels that matter most" });
  const others = sets.map((one) => element("option", { value: one.labels.join(","), text: `towards the one ${written(one)}` }));
  find("slice").replaceChildren(first, ...others);
  find("slicing").hidden = !sets.length || model.n_features < 3;
}

async function cutAnew() {
  const { labels, anchors, isCurrent, signal } = drawn;
  const chosen = find("slice").value;
  const through = chosen ? [anchors[0], chosen.split(",").map(Number)] : anchors.slice(0, 1);
  try {
    await draw(labels, through, isCurrent, signal);
  } catch (error) {
    if (error.name !== "AbortError") complain(sentence(error));
  }
}

async function compare(verdict, labels, signal) {
  if (!model.examples) return;
  const answer = await ask("similar", { labels, limit: N_SIMILAR + 1 }, signal);
  const sets = answer.sets.filter((one) => String(one.labels) !== String(labels)).slice(0, N_SIMILAR);
  const marks = showSimilar(panels.similar, sets, { labels, go });
  if (!marks) return;
  const statuses = await ask("verdicts", { sets: sets.map((one) => one.labels) }, signal);
  showStatuses(marks, statuses.status);
  if (verdict.status === "argmaxable") offerSlices(sets.filter((one, place) => statuses.status[place] === 1));
}

// The chips

function renderChips() {
  const focused = document.activeElement?.closest?.(".chip")?.dataset.label;
  const isRemoving = document.activeElement?.classList?.contains("remove");
  find("chips").replaceChildren(...chips.map(chipOf));
  find("clear").hidden = !chips.length;
  if (focused === undefined) return;
  const chip = find("chips").querySelector(`[data-label="${focused}"]`);
  (chip?.querySelector(isRemoving ? ".remove" : ".switch") ?? find("query")).focus();
}

function chipOf({ label, on }) {
  const known = knowsName(label);
  return element(
    "li",
    { class: `chip ${on ? "on" : "off"}`, "data-label": String(label) },
    element(
      "button",
      { class: "switch", type: "button", "aria-pressed": String(on), title: on ? "Switch off" : "Switch on", onclick: () => toggle(label) },
      known ? labelName(label, { title: null }) : element("span", { text: "…" }),
    ),
    element("button", { class: "remove", type: "button", onclick: () => remove(label) }, element("span", { "aria-hidden": "true", text: "×" }), element("span", { class: "unseen" }, "Remove ", labelName(label, { title: null }))),
  );
}

// The start

function showModel() {
  find("model").replaceChildren(element("bdi", { dir: "auto", text: model.model }));
  const facts = [
    `${plural(model.n_labels, "label")} × ${plural(model.n_features, "feature")}${model.bias ? ", with bias" : ""}`,
    `rule ${model.rule}${model.thresholds ? " with thresholds" : ""}`,
    model.domain,
    model.dtype,
    model.n_always ? `${plural(model.n_always, "label")} always on` : null,
    model.n_never ? `${plural(model.n_never, "label")} never on` : null,
    model.inputs ? `${plural(model.inputs, "real input")}` : null,
    model.examples ? `data of ${plural(model.examples, "example")}, ${plural(model.distinct, "distinct combination")}` : "no data",
  ];
  find("facts").textContent = facts.filter(Boolean).join(" · ");
}

async function start() {
  const response = await fetch("/api/model");
  model = await response.json();
  showModel();
  new Combobox({
    input: find("query"),
    list: find("options"),
    status: find("matches"),
    add,
    removeLast: () => chips.length && remove(chips.at(-1).label),
    isOn: (label) => chips.some((chip) => chip.label === label && chip.on),
  });
  find("slice").addEventListener("change", cutAnew);
  find("clear").addEventListener("click", () => {
    change([]);
    find("query").focus();
  });
  addEventListener("popstate", () => {
    chips = readAddress();
    render();
  });
  chips = readAddress();
  await render();
}

start();
