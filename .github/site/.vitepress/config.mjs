// The site shows the Markdown files of the repository as pages. Links to other files lead to the repository.
import { dirname, join, relative } from "node:path";
import { withMermaid } from "vitepress-plugin-mermaid";

const root = join(import.meta.dirname, "../../..");
const repository = "https://github.com/dynastrata/dynastrata";

// linksToRepository makes relative links to files that are not pages absolute.
function linksToRepository(md) {
  md.core.ruler.push("repository", (state) => {
    for (const block of state.tokens) {
      for (const token of block.children ?? []) {
        const href = token.type === "link_open" ? token.attrGet("href") : null;
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
const learn = [["Guide", "docs/guide"], ["Tags", "docs/tags"], ["Errors", "docs/errors"], ["Recipes", "docs/recipes"]];

export default withMermaid({
  title: "Dynastrata",
  description: "Go structs on DynamoDB: keys, indexes, versions, unique values and time series, checked at start-up",
  head: [["style", {}, ".vp-doc a > img { display: inline-block }"]], // badges
  base: process.env.SITE_BASE ?? "/",
  srcDir: "../..",
  srcExclude: ["**/node_modules/**", "**/testdata/**", ".github/**"],
  outDir: "../../site",
  cacheDir: "node_modules/.cache",
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, "$1index.md"),
  vite: { resolve: { alias: [{ find: /^vue(\/.*)?$/, replacement: join(import.meta.dirname, "../node_modules/vue$1") }] } },
  markdown: {
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
      { text: "Start", items: pages(["Overview", ""], ...learn) },
      {
        text: "Advanced",
        collapsed: true,
        items: pages(
          ["Codes", "docs/codes"],
          ["Glossary", "docs/glossary"],
          ["Examples", "examples/"],
          ["From the AWS SDK", "docs/from-sdk"],
          ["From guregu/dynamo", "docs/from-guregu"],
          ["Mistakes before the program runs", "docs/vet"],
          ["Streams", "docs/streams"],
          ["Tables", "docs/tables"],
          ["Testing", "docs/testing"],
        ),
      },
      {
        text: "Operate",
        collapsed: true,
        items: pages(
          ["In production", "docs/production"],
          ["Performance", "docs/performance"],
          ["Evolution", "docs/evolution"],
          ["The command", "docs/command"],
          ["Jobs on Apache Beam", "docs/beam"],
        ),
      },
      {
        text: "Inside",
        collapsed: true,
        items: pages(
          ["Leaving the library", "docs/leaving"],
          ["Sharing tables", "docs/sharing"],
          ["Architecture", "ARCHITECTURE"],
          ["Design notes", "docs/design/"],
          ["Change log", "CHANGELOG"],
          ["Contributing", `${repository}/blob/main/.github/CONTRIBUTING.md`],
        ),
      },
    ],
  },
});
