// A client of the TypeScript SDK: node client.cjs NODE_MODULES. It reads from stdin where the server is and what to run
// there, and prints as JSON what it saw; see tests/kit/mcp_clients.py.
const { createRequire } = require("node:module");
const sdk = createRequire(`${process.argv[2]}/any.js`);
const { Client } = sdk("@modelcontextprotocol/sdk/client");
const { StdioClientTransport } = sdk("@modelcontextprotocol/sdk/client/stdio.js");
const { SSEClientTransport } = sdk("@modelcontextprotocol/sdk/client/sse.js");
const { StreamableHTTPClientTransport } = sdk("@modelcontextprotocol/sdk/client/streamableHttp.js");

const PATIENCE_MS = 240_000;

function transport({ transport, command, url, headers }) {
  if (transport === "stdio") return new StdioClientTransport({ command: command[0], args: command.slice(1) });
  const Transport = transport === "sse" ? SSEClientTransport : StreamableHTTPClientTransport;
  return new Transport(new URL(url), { requestInit: { headers } });
}

// Runs one script. A step that is abandoned is given up once all is reported as done.
async function call(client, { script, follow, abandon }) {
  const progress = [];
  const giveUp = new AbortController();
  const onprogress = (seen) => {
    progress.push([seen.progress, seen.total, seen.message]);
    if (abandon && seen.progress === seen.total) giveUp.abort();
  };
  const options = { signal: giveUp.signal, timeout: PATIENCE_MS, ...(follow || abandon ? { onprogress } : {}) };
  try {
    const result = await client.callTool({ name: "evaluate_script", arguments: { script } }, undefined, options);
    return { text: result.content[0].text, is_error: result.isError === true, given_up: false, progress };
  } catch (error) {
    if (!giveUp.signal.aborted) throw error;
    return { text: "", is_error: false, given_up: true, progress };
  }
}

async function visit(task) {
  const client = new Client({ name: "typescript-sdk", version: "1" });
  const way = transport(task);
  let version = "";
  way.setProtocolVersion = ((set) => (agreed) => { version = agreed; set?.call(way, agreed); })(way.setProtocolVersion);
  await client.connect(way);
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const page = (await client.readResource({ uri: task.page })).contents[0].text;
  const answers = {};
  for (const step of task.steps) answers[step.name] = await call(client, step);
  await client.close();
  return { version, tools, page, answers };
}

visit(JSON.parse(require("node:fs").readFileSync(0, "utf8"))).then(
  (seen) => process.stdout.write(JSON.stringify(seen)),
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
);
