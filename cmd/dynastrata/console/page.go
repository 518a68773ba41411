package console

import (
	_ "embed"
	"fmt"
	"html"
	"strings"
)

//go:embed page.html
var pageHead string

// page returns the entities as one HTML page without references to others, with a diagram of each partition.
func page(all []shown) string {
	var b strings.Builder
	put := func(format string, args ...any) {
		for i, arg := range args {
			args[i] = html.EscapeString(fmt.Sprint(arg))
		}
		fmt.Fprintf(&b, format, args...)
	}
	b.WriteString(pageHead + "<h1>Entities</h1>\n<nav>")
	for i, v := range all {
		if i > 0 {
			put(" · ")
		}
		put(`<a href="#%s">%s</a>`, v.Name, v.Name)
	}
	put("</nav>\n")
	for _, v := range all {
		put("<h2 id=\"%s\">%s</h2>\n<p>Table <code>%s</code>, items <code>%s</code>.", v.Name, v.Name, v.Table, v.Items)
		for _, f := range v.Features {
			put(" <code>%s</code>", f)
		}
		if len(v.Secrets) > 0 {
			put(" Never printed: <code>%s</code>.", strings.Join(v.Secrets, ", "))
		}
		put("</p>\n")
		for i, x := range v.Stored { // a box for each partition
			if i == 0 || x.Partition != v.Stored[i-1].Partition {
				if i > 0 {
					put("</div>\n")
				}
				put("<div class=\"partition\"><code>%s</code>\n", x.Partition)
			}
			put(`<div class="item %s"><b>%s</b><code>%s</code>`, strings.ReplaceAll(string(x.Kind), " ", "-"), x.Kind, x.Sort)
			if x.Lives != "" {
				put("<span>for %s</span>", x.Lives)
			}
			put("</div>\n")
		}
		put("</div>\n<table>\n<tr><th>key</th><th>partition</th><th>sort</th><th>carries</th></tr>\n")
		for _, k := range v.Keys {
			put("<tr><td>%s</td><td><code>%s</code></td><td><code>%s</code></td><td>%s</td></tr>\n", k.Of, k.Partition, k.Sort, k.Projection+condition(k))
		}
		put("</table>\n")
		if len(v.Patterns) > 0 {
			put("<table>\n<tr><th>verb</th><th>needs</th><th>requests</th><th>items</th><th>costs</th></tr>\n")
			for _, t := range v.Patterns {
				put("<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n", t.Verb, t.Needs, t.Requests, t.Items, t.Units)
			}
			put("</table>\n")
		}
	}
	put("</body>\n</html>\n")
	return b.String()
}
