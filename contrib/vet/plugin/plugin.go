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

// settings holds the linter's part of a golangci-lint configuration.
type settings struct {
	Applied *bool `json:"applied"` // false: results of appends need not be read
	Lock    *bool `json:"lock"`    // false: what versioned.Lock does not notice is not reported
	Unrun   *bool `json:"unrun"`   // false: operations and queries need not be run
}

type linter struct{}

// New returns the linter with the settings in conf. An error says that a setting is unknown or has another type.
func New(conf any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[settings](conf)
	if err != nil {
		return nil, err
	}
	for name, set := range map[string]*bool{"applied": s.Applied, "lock": s.Lock, "unrun": s.Unrun} {
		if set == nil {
			continue
		}
		if err := vet.Analyzer.Flags.Set(name, strconv.FormatBool(*set)); err != nil {
			return nil, fmt.Errorf("the setting %s: %w", name, err)
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
