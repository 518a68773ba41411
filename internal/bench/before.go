package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
)

// record is a run that later ones are compared with.
type record struct {
	Commit     string            // of the library
	Operations map[string]ratio  // by name, ratios to the raw SDK
	New        map[string]ratio  // microseconds and allocations
	Requests   map[string]string // requests / units
}

type ratio struct{ CPU, Allocs float64 }

//go:embed before.json
var beforeJSON []byte

// readBefore returns the run that the column "before" shows.
func readBefore() (record, error) {
	var r record
	err := json.Unmarshal(beforeJSON, &r)
	return r, err
}

func (r record) save(file string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func (r ratio) String() string {
	if r == (ratio{}) {
		return "–"
	}
	return fmt.Sprintf("%.2f / %.2f", r.CPU, r.Allocs)
}

func (r ratio) absolute() string { return number(r.CPU) + " / " + number(r.Allocs) }
