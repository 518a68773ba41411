// The site shows the Markdown files of the repository as pages. Links to other files lead to the repository.
import { dirname, join, relative } from "node:path";
import { withMermaid } from "vitepress-plugin-mermaid";

const root = join(import.meta.dirname, "../../..");
const repository = "https://github.com/dynastrata/dynastrata";

// slugify names the anchor of a heading as GitHub does.
const slugify = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");

// linksToRepository makes relative links to files that are not pages absolute, and leads links to a README to the page of its folder.
function linksToRepository(md) {
  md.core.ruler.push("repository", (state) => {
    for (const block of state.tokens) {
      for (const token of block.children ?? []) {
        const href = token.type === "link_open" ? token.attrGet("href") : null;
        if (href && /(^|\/)README\.md(#|$)/.test(href) && !/^[a-z]+:/.test(href)) {
          token.attrSet("href", href.replace(/(^|\/)README\.md/, (_, slash) => slash || "./"));
          continue;
        }
        if (!href || /^([a-z]+:|#|\/)/.test(href) || (/\.md(#|$)/.test(href) && !href.startsWith(".github/"))) {
          continue;
        }
        const page = relative(root, join(root, dirname(state.env.relativePath), href));
        token.attrSet("href", `${repository}/blob/main/${page}`);
      }
    }
  });
}

// noTemplates keeps Vue from reading braces in the text as its templates.
function noTemplates(md) {
  for (const rule of ["text", "code_inline"]) {
    const render = md.renderer.rules[rule];
    md.renderer.rules[rule] = (...args) => render(...args).replaceAll("{{", "&#123;&#123;");
  }
}

const pages = (...list) => list.map(([text, link]) => ({ text, link: link.startsWith("https:") ? link : `/${link}` }));
const learn = [["Guide", "docs/guide"], ["Recipes", "docs/recipes"], ["Tags", "docs/tags"], ["Errors", "docs/errors"]];

export default withMermaid({
  title: "Dynastrata",
  description: "Write a Go struct; get DynamoDB writes that are correct",
  head: [["style", {}, ".vp-doc a > img { display: inline-block }"]], // badges
  base: process.env.SITE_BASE ?? "/",
  srcDir: "../..",
  srcExclude: ["**/node_modules/**", "**/testdata/**", ".github/**"],
  outDir: "../../site",
  cacheDir: "node_modules/.cache",
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, "$1index.md"),
  vite: { resolve: { alias: [{ find: /^vue(\/.*)?$/, replacement: join(import.meta.dirname, "../node_modules/vue$1") }] } },
  markdown: {
    anchor: { slugify },
    config: (md) => {
      linksToRepository(md);
      noTemplates(md);
    },
  },
  mermaid: { htmlLabels: false, flowchart: { htmlLabels: false } }, // the style of the page would change their size
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    socialLinks: [{ icon: "github", link: repository }],
    nav: pages(...learn),
    sidebar: [
      { text: "Start", items: pages(["Overview", ""], ["Guide", "docs/guide"], ["Recipes", "docs/recipes"], ["Examples", "examples/"]) },
      {
        text: "Model",
        items: pages(
          ["Entities and keys", "docs/entities"],
          ["Values and types", "docs/values"],
          ["Indexes", "docs/indexes"],
          ["Evolution and migrations", "docs/evolution"],
        ),
      },
      {
        text: "One item",
        items: pages(
          ["Conditions and changes", "docs/changes"],
          ["Unique values", "docs/unique"],
          ["Versions and locking", "docs/versions"],
          ["Soft delete", "docs/soft-delete"],
          ["Expiry", "docs/expiry"],
          ["Times and who", "docs/timestamps"],
        ),
      },
      {
        text: "Many items",
        items: pages(
          ["Reading and pages", "docs/reading"],
          ["Batches and transactions", "docs/batches-and-transactions"],
          ["Time series", "docs/series"],
          ["Timelines (read models)", "docs/timelines"],
          ["Streams and Lambda", "docs/streams"],
          ["Leases", "docs/leases"],
        ),
      },
      {
        text: "Operate",
        collapsed: true,
        items: pages(
          ["Tables, IAM, Regions", "docs/tables"],
          ["Testing", "docs/testing"],
          ["In production: retries, metrics", "docs/production"],
          ["Performance", "docs/performance"],
          ["The command", "docs/command"],
          ["Mistakes before the program runs", "docs/vet"],
          ["Sharing tables", "docs/sharing"],
          ["Leaving the library", "docs/leaving"],
          ["Jobs on Apache Beam", "docs/beam"],
        ),
      },
      {
        text: "Look up",
        collapsed: true,
        items: pages(["Tags", "docs/tags"], ["Errors", "docs/errors"], ["Codes", "docs/codes"], ["Glossary", "docs/glossary"]),
      },
      {
        text: "Change",
        collapsed: true,
        items: pages(
          ["From the AWS SDK", "docs/from-sdk"],
          ["From guregu/dynamo", "docs/from-guregu"],
          ["Change log", "CHANGELOG"],
          ["Architecture", "ARCHITECTURE"],
          ["Design notes", "docs/design/"],
          ["Contributing", `${repository}/blob/main/.github/CONTRIBUTING.md`],
        ),
      },
    ],
  },
});
