// What is said about a combination: the verdict, why, what is near, and what the data has.

import { VERDICTS, bar, between, element, labelName, listed, plural, short } from "./elements.js";

const MOST_ROWS = 8;

const show = (panel, ...children) => {
  panel.querySelector(".content").replaceChildren(...children);
  panel.hidden = false;
};

export const paragraph = (text, kind = "lead") => element("p", { class: kind, text });

// The verdict

export function showVerdict(panel, answer, model) {
  const verdict = VERDICTS[answer.status];
  const subject = answer.labels.length === 0 ? "The empty combination" : answer.labels.length === 1 ? "This label alone" : "This combination";
  const ending = { argmaxable: "can be predicted.", undecided: "is not decided." }[answer.status] ?? "can never be predicted.";
  panel.className = `verdict-block ${verdict.class}`;
  const said = element(
    "div",
    {},
    element("p", { class: `headline verdict ${verdict.class}`, text: `${subject} ${ending}` }),
    paragraph(reason(answer, model), "lead"),
    model.examples ? paragraph(occurrence(answer, model), "under") : null,
  );
  panel.replaceChildren(said);
}

// Say the reason again, where a search has found a smaller conflict.
export function restate(panel, answer, model) {
  panel.querySelector(".lead").textContent = reason(answer, model);
}

function reason(answer, model) {
  const inputs = model.domain.replace("every input", "input").replace("inputs", "input");
  const gives = answer.labels.length ? "gives exactly this combination" : `gets none of the ${plural(model.n_labels, "label")}`;
  if (answer.status === "undecided") return `${answer.reason[0].toUpperCase()}${answer.reason.slice(1)}.`;
  if (answer.status === "size")
    return `The rule gives ${plural(answer.size, "label")} to every example, and this combination has ${answer.labels.length}.`;
  if (answer.status === "argmaxable") {
    if (answer.margin === null) return `Some ${inputs} ${gives}.`;
    if (answer.margin < 1e-12) return `Some ${inputs} ${gives}, but hardly any other does: it lies on a boundary.`;
    const share = `${short(100 * answer.margin)} %`;
    return `Some ${inputs} ${gives}, and still does when it is moved by up to ${share} of its length (margin ${short(answer.margin)}).`;
  }
  const size = answer.conflict.on.length + answer.conflict.off.length;
  const what = size === 1 ? "one decision is impossible" : `${size} decisions contradict each other`;
  return `No ${inputs} ${gives}: ${what}.`;
}

function occurrence(answer, model) {
  const examples = plural(model.examples, "example");
  const what = answer.labels.length ? "exactly this combination" : "no label";
  if (!answer.count) return `None of the ${examples} of the data has ${what}.`;
  return `${answer.count.toLocaleString("en")} of the ${examples} of the data ${answer.count === 1 ? "has" : "have"} ${what}.`;
}

// Why not: the balance of a conflict

const EXTRA = { scale: "the biases", sum_le: "the sum of the scores", sum_ge: "the sum of the scores" };

export function showConflict(panel, answer, model) {
  const { on, off, extra } = answer.conflict;
  const others = [...new Set(extra.map((row) => EXTRA[row] ?? "the bounds of the features"))];
  const isOne = on.length + off.length === 1;
  panel.querySelector("h2").textContent = isOne ? "Which label stands in the way" : "Which labels contradict each other";
  if (!on.length && !off.length) return void show(panel, paragraph("The support of sparsemax is never empty."));
  if (isOne) return void show(panel, impossible(on, off, others));
  const parts = [paragraph(cancelling(on, off, others, model)), balance(answer.conflict)];
  if (answer.irreducible && on.length + off.length > 1)
    parts.push(paragraph("Leave any one of them open, and the others can be as asked.", "under"));
  show(panel, ...parts);
}

function impossible(on, off, others) {
  const why = others.length ? `, given ${others.join(" and ")}.` : ": its logit is the same for every input.";
  return element("p", { class: "lead" }, labelName(on[0] ?? off[0]), ` is ${on.length ? "never on" : "always on"}`, why);
}

function cancelling(on, off, others, model) {
  const some = (labels, where) => (labels.length === 1 ? `the one ${where}` : `those ${where}`);
  const all = (labels) => (labels.length === 1 ? "" : "all ");
  const both = on.length && off.length;
  const ranked = model.rule !== "sigmoid";
  let so = on.length ? `cannot ${all(on)}be on` : `cannot ${all(off)}be off`;
  if (both && ranked) so = `${some(on, "on the left")} cannot ${all(on)}have higher logits than ${some(off, "on the right")}`;
  else if (both) so = `${some(on, "on the left")} cannot ${all(on)}be on while ${some(off, "on the right")} ${off.length === 1 ? "is" : "are all"} off`;
  else so = `they ${so}`;
  if (others.length) return `Given ${others.join(" and ")}, the logits of these labels, weighted as the bars show, never add up to what is asked: ${so}.`;
  return `Weighted as the bars show, the logits of these labels cancel each other for every input: ${so}.`;
}

export function balance({ on, off, on_shares: onShares, off_shares: offShares }) {
  const largest = Math.max(...onShares, ...offShares, 1e-9);
  const isSingle = !on.length || !off.length;
  const row = (kind, left, right) => element("div", { class: `pair${kind}`, role: "row" }, on.length ? left : null, off.length ? right : null);
  const title = (where, text) => element("span", { role: "columnheader", class: `side ${where}`, text });
  const rows = Array.from({ length: Math.max(on.length, off.length) }, (_, k) =>
    row("", side(on[k], onShares[k] / largest, "left"), side(off[k], offShares[k] / largest, "right")),
  );
  const head = row(" head", title("left", "asked to be on"), title("right", "asked to be off"));
  const options = { class: `balance${isSingle ? " single" : ""}`, role: "table", "aria-label": "Labels that contradict each other" };
  return withMore(element("div", options, head, ...rows), rows, (hidden) => `Show ${hidden} more rows`);
}

function side(label, share, where) {
  if (label === undefined) return element("span", { role: "cell", class: `side ${where}` });
  return element("span", { role: "cell", class: `side ${where}` }, labelName(label), bar(share, where));
}

function withMore(list, rows, words) {
  const hidden = rows.slice(MOST_ROWS);
  if (hidden.length < 2) return list;
  hidden.forEach((row) => (row.hidden = true));
  const more = element("button", {
    class: "plain",
    type: "button",
    text: words(hidden.length),
    onclick: () => {
      hidden.forEach((row) => (row.hidden = false));
      more.remove();
    },
  });
  return element("div", {}, list, more);
}

// Why: which labels change first

export function showBoundary(panel, answer, go) {
  panel.querySelector("h2").textContent = "Which labels change first";
  if (!answer.boundary.length) return void (panel.hidden = true);
  const active = new Set(answer.labels);
  const margins = answer.boundary.map((one) => one.margin ?? 0);
  const largest = Math.max(...margins, 1e-9);
  const differ = largest > 1.02 * Math.min(...margins);
  const rows = answer.boundary.map((one) => {
    const isOn = active.has(one.label);
    const words = { true: isOn ? "can go off alone" : "can come on alone", false: "never changes alone", null: "not decided" }[one.can_flip];
    const target = isOn ? answer.labels.filter((label) => label !== one.label) : [...answer.labels, one.label];
    const inside = [
      element("span", { class: `state ${isOn ? "on" : "off"}`, text: isOn ? "on" : "off" }),
      labelName(one.label),
      differ ? bar((one.margin ?? largest) / largest, "right") : null,
      element("span", { class: "number", text: short(one.margin) }),
      element("span", { class: "note", text: words }),
    ];
    const row = one.can_flip
      ? element("button", { class: "row", type: "button", onclick: () => go(target) }, ...inside)
      : element("div", { class: "row" }, ...inside);
    return element("li", {}, row);
  });
  const list = element("ul", { class: differ ? "rows flips" : "rows flips equal" }, ...rows);
  show(panel, paragraph("Around the most central input found, by distance from their boundaries:"), withMore(list, rows, (hidden) => `Show ${hidden} more`));
}

// The nearest combinations

export function showNearest(panel, answer, { go, isFinal }) {
  const rows = answer.nearest.map((one) => {
    const changes = one.added.length + one.removed.length;
    const note = `${plural(changes, "change")}${one.is_minimal ? ", the fewest possible" : ""} · margin ${short(one.margin)}`;
    const parts = [];
    if (one.removed.length) parts.push("without ", listed(one.removed, 4));
    if (one.added.length) parts.push(parts.length ? ", with " : "with ", listed(one.added, 4));
    const text = element("span", { class: "what" }, ...parts);
    return element(
      "li",
      {},
      element(
        "button",
        { class: "row near", type: "button", onclick: () => go(one.labels) },
        element("span", { class: "verdict can", "aria-hidden": "true" }),
        element("span", {}, text, element("span", { class: "note", text: note })),
      ),
    );
  });
  const parts = [];
  if (rows.length) parts.push(element("ul", { class: "rows" }, ...rows));
  if (!isFinal) parts.push(paragraph("Looking for nearer ones …", "under searching"));
  else if (!answer.nearest.some((one) => one.is_minimal)) parts.push(paragraph(distance(answer), "under"));
  show(panel, ...parts);
}

function distance({ least_distance: least, nearest }) {
  if (least === null) return "There is no combination that can be predicted.";
  const bound = `Proven: every combination that can be predicted differs in at least ${plural(least, "label")}.`;
  return nearest.length ? bound : `${bound} The search ended before it found one.`;
}

// Similar sets of the data

export function showSimilar(panel, sets, { labels, go }) {
  panel.querySelector("h2").textContent = labels.length ? "Similar combinations in the data" : "Frequent combinations in the data";
  if (!sets.length) return void show(panel, paragraph("No other example of the data has any of these labels.", "under"));
  const chosen = new Set(labels);
  const rows = sets.map((one) => {
    const same = one.labels.filter((label) => chosen.has(label));
    const other = one.labels.filter((label) => !chosen.has(label));
    const all = [...same, ...other];
    const text = element("span", { class: "what" });
    if (!all.length) text.append("no label");
    all.slice(0, 7).forEach((label, place) => {
      text.append(place ? between(all) : "", labelName(label, { class: chosen.has(label) || !labels.length ? "name" : "name other" }));
    });
    if (all.length > 7) text.append(` and ${all.length - 7} more`);
    const share = labels.length ? `${same.length} shared, ${Math.round(100 * one.similarity)} % alike` : null;
    const note = [share, plural(one.count, "example")].filter(Boolean).join(" · ");
    return element(
      "li",
      {},
      element(
        "button",
        { class: "row set", type: "button", onclick: () => go(one.labels) },
        element("span", { class: "verdict pending", text: "…" }),
        text,
        element("span", { class: "note", text: note }),
      ),
    );
  });
  show(panel, element("ul", { class: "rows" }, ...rows));
  return rows.map((row) => row.querySelector(".verdict"));
}

export function showStatuses(marks, statuses) {
  marks.forEach((mark, place) => {
    const verdict = VERDICTS[{ 1: "argmaxable", 0: "unargmaxable" }[statuses[place]] ?? "undecided"];
    mark.className = `verdict ${verdict.class}`;
    mark.textContent = { can: "can", cannot: "never", undecided: "undecided" }[verdict.class];
    mark.title = verdict.text;
  });
}
