package console

import (
	_ "embed"
	"html/template"
	"strings"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"class": func(k Kind) string { return strings.ReplaceAll(string(k), " ", "-") },
}).Parse(pageText))

// page returns the entities as one HTML page without references to others.
func page(all []shown) (string, error) {
	var b strings.Builder
	err := pageTemplate.Execute(&b, all)
	return b.String(), err
}
