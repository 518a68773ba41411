// Package plugin makes the analyzer a linter of golangci-lint. docs/vet.md has its configuration.
package plugin

import (
	"fmt"
	"strconv"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/dynastrata/dynastrata/contrib/vet"
)

func init() { register.Plugin(vet.Analyzer.Name, New) }

// settings are those of the linter in the configuration of golangci-lint.
type settings struct {
	Applied *bool `json:"applied"` // false: results of appends need not be read
}

type linter struct{}

// New returns the linter with the settings in conf. An error says that a setting is unknown or has another type.
func New(conf any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[settings](conf)
	if err != nil {
		return nil, err
	}
	if s.Applied != nil {
		if err := vet.Analyzer.Flags.Set("applied", strconv.FormatBool(*s.Applied)); err != nil {
			return nil, fmt.Errorf("the setting applied: %w", err)
		}
	}
	return linter{}, nil
}

// BuildAnalyzers returns the analyzer.
func (linter) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return []*analysis.Analyzer{vet.Analyzer}, nil
}

// GetLoadMode asks for the types of packages.
func (linter) GetLoadMode() string { return register.LoadModeTypesInfo }
