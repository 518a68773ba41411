// Package iac writes the tables that a program's declarations need for the tools that create infrastructure:
// [CloudFormation] templates and [Terraform] configurations. It needs no client and sends no request.
//
// The texts are the same bytes for the same declarations, so that a test can compare them with a file under version
// control.
package iac

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
)

// A tool replaces a resource whose name changes, and the table with it. So the name of a table's resource depends on
// nothing but the table's logical name, and names that would collide in the plain form end in a checksum.

// longestName is how much of a logical name is kept; CloudFormation allows 255 characters.
const longestName = 200

// logicalName is the table's logical name, the first one if there are several.
func logicalName(t entity.TableSpec) string {
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

// logicalID is the CloudFormation id of a table: letters and digits.
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

// resourceName is the Terraform name of a table: letters, digits, _ and -.
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

// indented is v as JSON for people, ending in a newline. Names may hold < and &, which are left as they are.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
