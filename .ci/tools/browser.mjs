// Looks at the page of the gate's report in a browser: nothing is fetched, nothing breaks its
// policy, nothing that was said becomes markup, nothing is cut off, light and dark, wide and narrow.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const folder = resolve(process.argv[2]);
const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
const executablePath = (process.env.PATH ?? "")
  .split(delimiter)
  .flatMap((path) => names.map((name) => join(path, name)))
  .find((path) => existsSync(path));
if (!executablePath) {
  console.log(`NOT CHECKED: no browser is installed (${names.join(", ")})`);
  process.exit(0);
}

const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 375, height: 740, isMobile: true } };
const browser = await puppeteer.launch({
  executablePath,
  // In a container there is no sandbox to be had; the page is ours.
  args: ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"],
});
let wrong = 0;
const complain = (where, what) => {
  wrong += 1;
  console.error(`WRONG ${where}: ${what}`);
};

async function open(file, size, scheme) {
  const page = await browser.newPage();
  const said = [];
  page.on("request", (r) => r.url() === pathToFileURL(file).href || said.push(`it fetches ${r.url()}`));
  page.on("console", (m) => said.push(`the console: ${m.text()}`));
  page.on("pageerror", (e) => said.push(`the script: ${e.message}`));
  page.on("dialog", (d) => { said.push(`a dialog: ${d.message()}`); void d.dismiss(); });
  await page.evaluateOnNewDocument(() => {
    document.addEventListener("securitypolicyviolation", (e) => {
      console.error(`against the policy: ${e.violatedDirective} ${e.blockedURI}`);
    });
  });
  await page.setViewport(sizes[size]);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(pathToFileURL(file).href, { waitUntil: "load" });
  return { page, said };
}

// What is in the page, as the browser understood it.
function inspect() {
  const all = [...document.querySelectorAll("*")];
  const allowed = new Set(
    ("html head meta title style body header h1 h2 h3 h4 div p span b a ul ol li dl dt dd code details summary input " +
      "label section main nav footer table thead tbody tr th td svg g rect path text line circle script noscript time").split(" "),
  );
  const handlers = all.flatMap((e) => [...e.attributes].filter((a) => /^on|^style$|^src/i.test(a.name)).map((a) => `${e.tagName} ${a.name}`));
  const contrast = (() => {
    const number = (text) => (text.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
    const light = (rgb) => {
      const [r, g, b] = rgb.map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (e) => {
      for (let at = e; at; at = at.parentElement) {
        const colour = getComputedStyle(at).backgroundColor;
        if (!/, 0\)$|transparent/.test(colour)) return number(colour);
      }
      return [255, 255, 255];
    };
    return all
      .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) && e.closest("body") && !e.closest("svg, script, style"))
      .map((e) => {
        const [a, b] = [light(number(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
        return [(a + 0.05) / (b + 0.05), `${e.tagName}.${e.className}`];
      })
      .filter(([ratio]) => ratio < 4.5)
      .map(([ratio, name]) => `${name} ${ratio.toFixed(2)}`);
  })();
  return {
    heading: document.querySelector("h1")?.textContent,
    title: document.title,
    unknown: [...new Set(all.map((e) => e.localName).filter((n) => !allowed.has(n)))],
    scripts: document.scripts.length,
    handlers,
    // A link within the page leads to something that is there.
    links: [...document.links]
      .filter((a) => !(a.getAttribute("href").startsWith("#") && document.getElementById(a.hash.slice(1))))
      .map((a) => a.href),
    contrast: [...new Set(contrast)],
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    sticking: all
      .filter((e) => !e.closest(".scroll") && e.getBoundingClientRect().right > innerWidth + 1)
      .map((e) => e.localName)
      .slice(0, 5),
    items: document.querySelectorAll("[data-item]").length,
  };
}

const reports = readdirSync(folder).filter((name) => name.endsWith(".html"));
const outcomes = { passed: 0, failed: 1, "no verdict": 2 };
for (const report of reports) {
  const file = join(folder, report);
  const run = JSON.parse(readFileSync(file.replace(/html$/, "json"), "utf8"));
  for (const size of Object.keys(sizes)) {
    for (const scheme of ["light", "dark"]) {
      const where = `${report} ${size} ${scheme}`;
      const { page, said } = await open(file, size, scheme);
      const found = await page.evaluate(inspect);
      if (outcomes[found.heading] !== run.exit) complain(where, `it says ${found.heading}`);
      if (!found.title.startsWith("gate: ")) complain(where, `the title is ${found.title}`);
      for (const name of found.unknown) complain(where, `an element <${name}>`);
      for (const name of found.handlers) complain(where, `an attribute ${name}`);
      if (found.scripts !== 1) complain(where, `${found.scripts} scripts`);
      for (const link of found.links) if (!link.startsWith("https://example.com/")) complain(where, `a link to ${link}`);
      for (const what of found.contrast) complain(where, `hard to read: ${what}`);
      await page.evaluate(() => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
      const unfolded = await page.evaluate(inspect);
      if (unfolded.wide > 0) complain(where, `it is ${unfolded.wide} px too wide: ${unfolded.sticking}`);
      for (const what of unfolded.contrast) complain(where, `hard to read: ${what}`);
      if (process.env.PICTURES) {
        await page.screenshot({ path: join(folder, `${report}.${size}.${scheme}.png`), fullPage: true });
      }
      // The script does its one task.
      await page.type("#filter", "no input is called this");
      const left = await page.evaluate(() => [...document.querySelectorAll("[data-item]")].filter((e) => !e.hidden).length);
      if (unfolded.items > 0 && left > 0) complain(where, "the filter hides nothing");
      for (const what of said) complain(where, what);
      await page.close();
    }
  }
}

// A page that breaks the rules is noticed, or none of the above means anything.
const bad = join(folder, "spoilt.check");
const text = readFileSync(join(folder, "failed.html"), "utf8");
writeFileSync(`${bad}.html`, text.replace("</header>", "</header><img src=https://evil.example/x><script>document.title = 1</script>"));
const { page, said } = await open(`${bad}.html`, "desktop", "light");
await new Promise((done) => setTimeout(done, 200));
const found = await page.evaluate(inspect);
if (!said.some((s) => s.includes("against the policy")) || !found.unknown.includes("img") || found.title === "1") {
  complain("a spoilt page", "it is taken for a good one");
}
await browser.close();
console.log(`html: looked at ${reports.length} pages in ${executablePath}`);
process.exit(wrong ? 1 : 0);
