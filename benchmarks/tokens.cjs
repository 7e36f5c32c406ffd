// Counts o200k tokens, offline: node tokens.cjs NODE_MODULES < JSON array of strings > JSON array of counts
const path = require("node:path");
const { countTokens } = require(path.join(process.argv[2], "gpt-tokenizer/cjs/encoding/o200k_base.js"));
const texts = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
// Text that happens to look like a special token is text.
const count = (text) => countTokens(text, { allowedSpecial: new Set(), disallowedSpecial: new Set() });
process.stdout.write(JSON.stringify(texts.map(count)));
