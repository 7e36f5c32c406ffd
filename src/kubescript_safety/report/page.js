"use strict";
// All text from runs goes through textContent, or through plain() into a chart: it is never markup.
const data = JSON.parse(document.getElementById("data").textContent);
const LETTERS = { safe_pass: "S", unsafe_pass: "U", fail: "F" };
const WORDS = { safe_pass: "safe pass", unsafe_pass: "unsafe pass", fail: "fail" };
const LANES = {
  call: "calls", asked: "questions to a person", agent: "changes by the agent", others: "changes by others",
  failure: "injected failures",
};
const ONE = { call: "call", asked: "question", agent: "change by the agent", others: "change by another", failure: "injected failure" };
const LED_TO = {
  better: "the next change was made and broke no rule", unsafe: "the next change broke a rule",
  again: "nothing new was tried with success", gave_up: "no other change was tried",
};

function element(name, text, attributes) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  Object.entries(attributes || {}).forEach(([key, value]) => made.setAttribute(key, value));
  return made;
}

function plain(text, most = 80) {
  // Attack: a server's text has tags such as links, some of which the library interprets in a chart's texts.
  const short = text.length > most ? text.slice(0, most - 1) + "…" : text;
  return short.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

function draw(place, traces, layout) {
  const axis = { gridcolor: colour("line"), zerolinecolor: colour("line"), fixedrange: true };
  const whole = {
    paper_bgcolor: "transparent", plot_bgcolor: "transparent", font: { color: colour("text"), size: 13 },
    hoverlabel: { bgcolor: colour("raised"), bordercolor: colour("line"), font: { color: colour("text") } },
    dragmode: false, ...layout, xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
  };
  Plotly.react(place, traces, whole, { displayModeBar: false, responsive: true });
}

// Space for the axis and the legend, whose entries are stacked in a narrow window.
function below() {
  return innerWidth < 700 ? 125 : 75;
}

// A chart's rows, with their names above them, where they fit in a narrow window too.
function rowsOf(names, step) {
  return {
    yaxis: { range: [names.length - 0.35, -0.65], showticklabels: false, showgrid: false, zeroline: false },
    annotations: names.map((name, index) => ({
      text: plain(name, 50), x: 0, xref: "paper", xanchor: "left", y: index - 0.5, yanchor: "middle", showarrow: false,
      font: { color: colour("text"), size: 13 },
    })),
    height: below() + 10 + step * names.length,
    margin: { t: 10, r: 25, l: 10, b: below() },
    legend: { orientation: "h", x: 0, y: 0, yref: "container", yanchor: "bottom", traceorder: "normal" },
  };
}

function drawRates() {
  const parts = [
    ["safe", "safe passes", "safe", "circle"], ["unsafe", "unsafe passes", "agent", "diamond"],
    ["failed", "fails", "quiet", "square"], ["unsafe_passes", "unsafe among passes", "bad", "x"],
  ];
  const traces = parts.map(([name, words, shade, symbol], place) => {
    const found = data.servers.map((server) => server[{ unsafe_passes: "unsafePasses" }[name] || name]);
    return {
      type: "scatter", mode: "markers", name: words, cliponaxis: false, marker: { color: colour(shade), symbol, size: 10 },
      x: found.map((rate) => (rate.of ? 100 * rate.rate : null)), y: found.map((_, index) => index - 0.22 + 0.17 * place),
      text: data.servers.map((server) => plain(server.name)),
      customdata: found.map((rate) => `${rate.count} of ${rate.of}`),
      hovertemplate: `%{text}<br>${words}: %{customdata}, %{x:.1f} %<extra></extra>`,
      error_x: {
        type: "data", symmetric: false, color: colour(shade), thickness: 2, width: 4,
        array: found.map((rate) => 100 * (rate.high - rate.rate)), arrayminus: found.map((rate) => 100 * (rate.rate - rate.low)),
      },
    };
  });
  const rows = rowsOf(data.servers.map((server) => server.name), 95);
  draw("rates", traces, {
    ...rows,
    xaxis: { range: [-1, 101], ticksuffix: " %" },
    shapes: [{ type: "line", x0: 100 * data.most, x1: 100 * data.most, y0: 0, y1: 1, yref: "paper", line: { color: colour("bad"), dash: "dash", width: 1 } }],
  });
}

function drawTokens() {
  const parts = [
    ["definitions and instructions of the server", "call", "", (server) => (server.tools.tokens || 0) + (server.tools.instructions || 0)],
    ["calls of a run", "agent", "/", (server) => server.cost.sentTokens || 0],
    ["answers of a run", "others", ".", (server) => server.cost.shownTokens || 0],
  ];
  const traces = parts.map(([words, shade, shape, figure]) => ({
    type: "bar", orientation: "h", name: words, marker: { color: colour(shade), pattern: { shape, fgcolor: colour("ground"), fillmode: "overlay", size: 6 } },
    x: data.servers.map(figure), y: data.servers.map((_, index) => index), width: 0.45,
    text: data.servers.map((server) => plain(server.name)), textposition: "none",
    hovertemplate: `%{text}<br>${words}: %{x:,.0f} tokens<extra></extra>`,
  }));
  const rows = rowsOf(data.servers.map((server) => server.name), 62);
  draw("tokens", traces, {
    ...rows, barmode: "stack",
    xaxis: { rangemode: "tozero", tickformat: ",", nticks: 5 },
  });
}

function cell(index) {
  const row = data.runs[index].row;
  const rules = row.rules.map((rule) => rule.id).join(", ");
  const how = row.ended === "finished" ? "" : `, ended: ${row.ended}`;
  const told = `${row.scenario}, ${row.server}, ${row.agent}: ${WORDS[row.verdict]}${rules ? ", " + rules : ""}${how}`;
  const button = element("button", LETTERS[row.verdict], {
    class: `cell ${row.verdict}${how ? " cut" : ""}`, type: "button", tabindex: "-1", "data-run": index, title: told, "aria-label": told,
  });
  button.addEventListener("click", () => show(index));
  return button;
}

const MOVES = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

// The tab key stops once per table, and arrow keys move within it: nobody wants 500 stops.
function withKeys(table) {
  const lines = [...table.tBodies[0].rows].map((line) => [...line.querySelectorAll("button")]).filter((line) => line.length);
  if (lines.length) lines[0][0].tabIndex = 0;
  table.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    const y = lines.findIndex((line) => line.includes(event.target));
    if (!move || y < 0) return;
    event.preventDefault();
    const line = lines[y + move[0]];
    const next = line && line[Math.min(lines[y].indexOf(event.target) + move[1], move[0] ? line.length - 1 : Infinity)];
    if (!next) return;
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

function matrixOf(server, scenarios, places) {
  const runs = [...places].filter(([, index]) => data.runs[index[0]].row.server === server.name);
  const agents = [...new Set(runs.map(([, index]) => data.runs[index[0]].row.agent))].sort();
  const table = element("table");
  const head = table.createTHead().insertRow();
  ["scenario", ...agents].forEach((name) => head.append(element("th", name, { scope: "col" })));
  const body = table.createTBody();
  scenarios.forEach((scenario) => {
    const line = body.insertRow();
    line.append(element("th", scenario, { scope: "row" }));
    agents.forEach((agent) => {
      const found = places.get(JSON.stringify([server.name, scenario, agent])) || [];
      line.insertCell().append(...(found.length ? found.map(cell) : ["–"]));
    });
  });
  withKeys(table);
  const section = element("section");
  const scrolled = element("div", undefined, { class: "wide" });
  scrolled.append(table);
  section.append(element("h3", server.name), scrolled);
  return section;
}

function drawMatrix() {
  const places = new Map();
  data.runs.forEach(({ row }, index) => {
    const key = JSON.stringify([row.server, row.scenario, row.agent]);
    places.set(key, [...(places.get(key) || []), index]);
  });
  const scenarios = [...new Set(data.runs.map((one) => one.row.scenario))].sort();
  document.getElementById("matrix").replaceChildren(...data.servers.map((server) => matrixOf(server, scenarios, places)));
}

function drawTimeline(place, moments, named, open) {
  const lanes = Object.keys(LANES).filter((lane) => moments.some((moment) => moment.lane === lane));
  const last = Math.max(0.1, ...moments.map((moment) => moment.end));
  const least = last / (innerWidth < 700 ? 60 : 150);
  const traces = lanes.map((lane, index) => {
    const own = moments.filter((moment) => moment.lane === lane);
    return {
      type: "bar", orientation: "h", name: LANES[lane], base: own.map((moment) => moment.start), width: 0.42,
      x: own.map((moment) => Math.max(moment.end - moment.start, least)), y: own.map(() => index),
      text: own.map((moment) => plain(moment.label) + (moment.is_error ? " (refused)" : "") + (named.has(moment.id) ? " (evidence)" : "")),
      textposition: "none", hovertemplate: "%{text}<br>at %{base:.2f} s<extra></extra>",
      customdata: own.map((moment) => moments.indexOf(moment)),
      marker: {
        color: colour(lane), pattern: { shape: own.map((moment) => (moment.is_error ? "/" : "")), fgcolor: colour("ground"), fillmode: "overlay", size: 6 },
        line: { color: colour("text"), width: own.map((moment) => (named.has(moment.id) ? 2 : 0)) },
      },
    };
  });
  const rows = rowsOf(lanes.map((lane) => LANES[lane]), 46);
  draw(place, traces, {
    ...rows, height: 60 + 46 * lanes.length, margin: { t: 5, r: 15, l: 10, b: 40 }, barmode: "overlay", showlegend: false,
    xaxis: { ticksuffix: " s", range: [Math.min(0, ...moments.map((moment) => moment.start)) - 2 * least, last + 3 * least] },
  });
  place.removeAllListeners("plotly_click");
  place.on("plotly_click", (event) => open(event.points[0].customdata));
}

function evidenceOf(rule, open, placeOf) {
  const box = element("details", undefined, { class: "rule" });
  box.open = true;
  box.append(element("summary", `${rule.id} (${rule.severity})`));
  const list = element("ul");
  rule.evidence.forEach((one) => {
    const item = element("li", one.text + " ");
    [[one.call, "call " + one.call], [one.event, "audit event " + (one.event || "").slice(0, 8)]].forEach(([id, words]) => {
      if (!id) return;
      const place = placeOf.get(id);
      const link = place === undefined ? element("span", words) : element("button", words, { type: "button", class: "link" });
      link.addEventListener("click", () => open(place));
      item.append("[", link, "] ");
    });
    list.append(item);
  });
  box.append(list);
  return box;
}

function momentOf(moment, named) {
  const box = element("details", undefined, { class: "moment" });
  const summary = element("summary", `${moment.start.toFixed(2)} s, ${ONE[moment.lane]}: ${moment.label}${moment.is_error ? " (refused)" : ""} `);
  const rules = named.get(moment.id);
  if (rules) {
    box.classList.add("evidence");
    summary.append(element("span", "⚠ " + [...rules].join(", "), { class: "tag" }));
  }
  box.append(summary, element("pre", (moment.text || "") + (moment.id ? `\n[${moment.id}]` : "")));
  return box;
}

function factsOf({ row, why }) {
  const tokens = row.sentTokens === null ? "" : ` (${row.sentTokens} tokens sent, ${row.shownTokens} shown)`;
  const facts = `Calls: ${row.calls}${tokens}; answered with an error: ${row.refusals}. Changes: ${row.writes}. Seconds: ${row.seconds.toFixed(1)}.`;
  const ended = { finished: "", killed: " The run was killed: its transcript has no end, and it is judged by what there is." }[row.ended];
  return facts + (ended === undefined ? ` The run did not finish: ${row.ended}${why ? ", " + why : ""}.` : ended);
}

function stopsOf(stops) {
  if (!stops.length) return [];
  const list = element("ul");
  stops.forEach((stop) => list.append(element("li", `call ${stop.call} (${stop.tool}) by the ${stop.by}: ${LED_TO[stop.ledTo]}`)));
  return [element("h3", "Changes that were stopped"), list];
}

let redraw = () => {};

function show(index) {
  const run = data.runs[index];
  const { row, task, answer } = run;
  // Call ids are small numbers, so they never equal an audit id.
  const placeOf = new Map(run.moments.flatMap((moment, place) => (moment.id ? [[moment.id, place]] : [])));
  const named = new Map();
  row.rules.forEach((rule) => rule.evidence.forEach((one) => [one.call, one.event].filter(Boolean).forEach((id) => {
    named.set(id, (named.get(id) || new Set()).add(rule.id));
  })));
  const told = run.moments.map((moment) => momentOf(moment, named));
  const open = (place) => {
    told[place].open = true;
    told[place].scrollIntoView({ block: "center" });
    told[place].firstChild.focus();
  };
  const title = document.getElementById("run-title");
  title.replaceChildren(element("span", LETTERS[row.verdict], { class: "chip " + row.verdict }), ` ${row.scenario}, ${row.server}, ${row.agent}: ${WORDS[row.verdict]}`);
  const picture = element("div", undefined, { role: "img", "aria-label": "Timeline of the run; the list below has the same" });
  const broken = row.rules.length ? row.rules.map((rule) => evidenceOf(rule, open, placeOf)) : [element("p", "No rule was broken.", { class: "empty" })];
  document.getElementById("run-content").replaceChildren(
    element("p", factsOf(run), { id: "run-facts" }),
    element("h3", "Task"), element("p", task || "(none)"),
    element("h3", "Rules that were broken"), ...broken,
    ...stopsOf(row.stops),
    element("h3", "What happened"), ...(run.moments.length ? [picture, element("p", "Hatched: refused. Outlined: evidence. A click opens it below.", { class: "empty" }), ...told] : [element("p", "Nothing.", { class: "empty" })]),
    ...(answer ? [element("h3", "Answer"), element("pre", answer)] : []),
    element("p", row.file, { class: "empty" }),
  );
  const dialog = document.getElementById("run");
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  title.focus();
  redraw = () => run.moments.length && drawTimeline(picture, run.moments, named, open);
  redraw();
}

function drawAll() {
  drawRates();
  drawTokens();
  redraw();
}

document.getElementById("close").addEventListener("click", () => document.getElementById("run").close());
document.getElementById("run").addEventListener("close", () => { redraw = () => {}; });
if (data.runs.length) {
  drawMatrix();
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
}
