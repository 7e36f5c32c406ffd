"use strict";
// All words of runs go through textContent: they are never markup.
const data = JSON.parse(document.getElementById("data").textContent);
const VERDICTS = { safe_pass: "✓", unsafe_pass: "!", fail: "–" };
const LANES = { call: "calls", agent: "changes by the agent", others: "changes by others", failure: "injected failures" };
const COLOURS = { call: "#0969da", agent: "#b35900", others: "#8250df", failure: "#cf222e" };

function element(name, text, attributes) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  Object.entries(attributes || {}).forEach(([key, value]) => made.setAttribute(key, value));
  return made;
}

function drawRates() {
  const parts = [["safe", "safe passes", "#1a7f37"], ["unsafe", "unsafe passes", "#b35900"], ["failed", "fails", "#6e7781"]];
  const traces = parts.map(([name, words, colour]) => ({
    type: "bar", name: words, marker: { color: colour },
    x: data.servers.map((server) => server.name),
    y: data.servers.map((server) => 100 * server[name].rate),
    error_y: {
      type: "data", symmetric: false, color: "#1f2328", thickness: 1,
      array: data.servers.map((server) => 100 * (server[name].high - server[name].rate)),
      arrayminus: data.servers.map((server) => 100 * (server[name].rate - server[name].low)),
    },
  }));
  const layout = { barmode: "group", height: 360, margin: { t: 20, r: 10 }, yaxis: { title: { text: "% of runs" }, range: [0, 100] }, legend: { orientation: "h" } };
  Plotly.newPlot("rates", traces, layout, { displayModeBar: false, responsive: true });
}

function cell(index) {
  const row = data.rows[index].row;
  const rules = row.rules.map((rule) => rule.id).join(", ");
  const button = element("button", VERDICTS[row.verdict], {
    class: "cell " + row.verdict, type: "button", "aria-pressed": "false", "data-run": index,
    title: `${row.agent}: ${row.verdict}${rules ? ", " + rules : ""}`,
    "aria-label": `${row.scenario}, ${row.server}, ${row.agent}: ${row.verdict} ${rules}`,
  });
  button.addEventListener("click", () => show(index, button));
  return button;
}

function drawMatrix() {
  const servers = data.servers.map((server) => server.name);
  const scenarios = [...new Set(data.rows.map((one) => one.row.scenario))];
  const table = element("table");
  const head = table.createTHead().insertRow();
  ["scenario", ...servers].forEach((name) => head.append(element("th", name)));
  const body = table.createTBody();
  scenarios.forEach((scenario) => {
    const line = body.insertRow();
    line.append(element("th", scenario));
    servers.forEach((server) => {
      const place = line.insertCell();
      data.rows.forEach((one, index) => {
        if (one.row.scenario === scenario && one.row.server === server) place.append(cell(index));
      });
    });
  });
  document.getElementById("matrix").replaceChildren(table);
}

function drawTimeline(place, moments) {
  const traces = Object.keys(LANES).map((lane) => {
    const own = moments.filter((moment) => moment.lane === lane);
    return {
      type: "bar", orientation: "h", name: LANES[lane], base: own.map((moment) => moment.start),
      x: own.map((moment) => Math.max(moment.end - moment.start, 0.02)), y: own.map(() => LANES[lane]),
      width: 0.6, text: own.map((moment) => moment.label), textposition: "none",
      hovertemplate: "%{text}<br>at %{base:.2f} s<extra></extra>",
      marker: { color: COLOURS[lane], opacity: own.map((moment) => (moment.is_error ? 0.35 : 0.9)) },
    };
  });
  const layout = {
    height: 260, margin: { t: 10, r: 10, l: 170 }, barmode: "overlay", showlegend: false,
    xaxis: { title: { text: "seconds" }, rangemode: "tozero" }, yaxis: { autorange: "reversed", type: "category" },
  };
  Plotly.newPlot(place, traces, layout, { displayModeBar: false, responsive: true });
}

function evidence(rule) {
  const box = element("details");
  box.open = true;
  box.append(element("summary", `${rule.id} (${rule.severity})`));
  const list = element("ul");
  rule.evidence.forEach((one) => {
    const named = [one.call ? `call ${one.call}` : "", one.event ? `audit event ${one.event}` : ""].filter(Boolean).join(", ");
    list.append(element("li", named ? `${one.text} [${named}]` : one.text));
  });
  box.append(list);
  return box;
}

function show(index, button) {
  document.querySelectorAll("button.cell[aria-pressed=true]").forEach((one) => one.setAttribute("aria-pressed", "false"));
  button.setAttribute("aria-pressed", "true");
  const { row, task, moments } = data.rows[index];
  document.getElementById("run-title").textContent = `${row.scenario}, ${row.server}, ${row.agent}: ${row.verdict}`;
  const picture = element("div", undefined, { role: "img", "aria-label": "Timeline of the run" });
  const facts = `${row.calls} calls, ${row.writes} changes, ${row.refusals} refusals, ${row.seconds.toFixed(1)} s; ended: ${row.ended}; ${row.file}`;
  const told = moments.map((moment) => {
    const box = element("details");
    box.append(element("summary", `${moment.start.toFixed(2)} s, ${LANES[moment.lane]}: ${moment.label}${moment.is_error ? " (refused)" : ""}${moment.id ? " [" + moment.id + "]" : ""}`));
    box.append(element("pre", moment.text));
    return box;
  });
  document.getElementById("run").replaceChildren(element("p", task), element("p", facts), picture, ...row.rules.map(evidence), ...told);
  drawTimeline(picture, moments);
  document.getElementById("run-title").scrollIntoView();
}

drawRates();
drawMatrix();
