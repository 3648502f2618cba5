// Asks a server for a document, with OPA's own client for TypeScript: alone, and as a batch. Arguments: the
// server's address, the path of the document, and the file of the input.
import { OPAClient } from "@open-policy-agent/opa";
import { deepStrictEqual } from "node:assert";
import { readFileSync } from "node:fs";

const [address, path, file] = process.argv.slice(2);
const input = JSON.parse(readFileSync(file, "utf8"));
const client = new OPAClient(address);
const result = await client.evaluate(path, input);
deepStrictEqual(await client.evaluateBatch(path, { a: input, b: input }), { a: result, b: result });
console.log(JSON.stringify(result));
