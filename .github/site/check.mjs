// Checks every link of the pages that were built: page and anchor, or the file of the repository. It prints the dead ones and fails.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const root = join(import.meta.dirname, "../..");
const site = resolve(process.argv[2] ?? join(root, "site"));
const base = process.env.SITE_BASE ?? "/";
const repository = "https://github.com/dynastrata/dynastrata/blob/main/";

const text = (s) => s.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => ({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" })[name]);

const pages = new Map(); // path in the site → its links and anchors
for (const name of readdirSync(site, { recursive: true })) {
  if (!name.endsWith(".html")) {
    continue;
  }
  const html = readFileSync(join(site, name), "utf8");
  const all = (pattern) => [...html.matchAll(pattern)].map((m) => text(m[1]));
  pages.set(name, { links: all(/<a\s[^>]*?href="([^"]*)"/g), anchors: new Set(all(/\sid="([^"]*)"/g)) });
}

// dead says what is wrong with a link of a page; "" if nothing is.
function dead(page, link) {
  if (link.startsWith(repository)) {
    const path = decodeURI(link.slice(repository.length).split("#")[0]);
    return existsSync(join(root, path)) ? "" : "the repository has no such file";
  }
  if (/^[a-z]+:/.test(link)) {
    return "";
  }
  const [path, anchor] = link.split("#").map(decodeURI);
  let target = page;
  if (path !== "") {
    if (path.startsWith("/") && !path.startsWith(base)) {
      return `the site is at ${base}`;
    }
    target = path.startsWith("/") ? path.slice(base.length) : relative(site, resolve(site, dirname(page), path));
    if (target === "" || path.endsWith("/") || (existsSync(join(site, target)) && statSync(join(site, target)).isDirectory())) {
      target = join(target, "index.html");
    }
  }
  if (!pages.has(target)) {
    return existsSync(join(site, target)) ? "" : "there is no such page";
  }
  return !anchor || pages.get(target).anchors.has(anchor) ? "" : "the page has no such anchor";
}

let checked = 0;
const found = new Set();
for (const [page, { links }] of pages) {
  for (const link of links) {
    checked++;
    const why = dead(page, link);
    if (why) {
      found.add(`${page}: ${link}: ${why}`);
    }
  }
}
for (const line of [...found].sort()) {
  console.error(line);
}
console.log(`${checked} links of ${pages.size} pages, ${found.size} dead`);
if (checked === 0 || found.size > 0) {
  process.exit(1);
}
