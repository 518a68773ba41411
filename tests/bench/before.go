package main

import (
	_ "embed"
	"encoding/json"
	"os"
)

// record is a run whose allocations later ones do not exceed.
type record struct {
	Commit     string            // of the library
	Operations map[string]ratio  // by name, ratios to the raw SDK
	New        map[string]ratio  // microseconds and allocations
	Requests   map[string]string // requests / units
}

type ratio struct{ CPU, Allocs float64 }

//go:embed before.json
var beforeJSON []byte

// readBefore returns the run that is kept.
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
