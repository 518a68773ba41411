// Package iac writes the tables of a program's declarations for tools that create infrastructure: [CloudFormation]
// templates, [Terraform] configurations, and the IAM [Policy] of the program. It needs no client and sends no request.
//
// Equal declarations give equal bytes, so a test can compare the output with a file under version control.
//
// The package is stable: before version 1.0.0 its API changes with a minor version only, and the change log says how.
package iac

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/dynastrata/dynastrata/tables"
)

// Tools replace a table when its resource name changes. So the resource name depends only on the table's logical name, and
// names that would collide in the plain form get a checksum.

// longestName is the most characters of a logical name that are used; CloudFormation allows 255.
const longestName = 200

// logicalName returns the table's logical name, the first if there are several.
func logicalName(t tables.Table) string {
	if len(t.Logical) == 0 {
		return t.Name // a Spec written by hand
	}
	return t.Logical[0]
}

var (
	snake    = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*$`)
	plain    = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	wordEnds = regexp.MustCompile(`[^A-Za-z0-9]+`)
	noName   = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

// logicalID returns the CloudFormation id of a table: letters and digits.
func logicalID(name string) string {
	if name == "" {
		return "Table"
	}
	id := ""
	for _, word := range wordEnds.Split(name, -1) {
		if word != "" {
			id += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	if snake.MatchString(name) && len(id) <= longestName {
		return id + "Table"
	}
	if id == "" || id[0] <= '9' { // an id begins with a letter
		id = "T" + id
	}
	return id[:min(len(id), longestName)] + "Table" + checksum(name)
}

// resourceName returns the Terraform name of a table: letters, digits, _ and -.
func resourceName(name string) string {
	switch {
	case name == "":
		return "table"
	case plain.MatchString(name) && len(name) <= longestName:
		return "table_" + name
	}
	name, sum := noName.ReplaceAllString(name, "_"), checksum(name)
	return "table_" + name[:min(len(name), longestName)] + "_" + sum
}

func checksum(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:4])
}

// indented returns v as indented JSON that ends with a newline. It does not escape < and &, which names can contain.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
