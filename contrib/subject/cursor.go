package subject

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/avjson"
	"github.com/dynastrata/dynastrata/internal/item"
)

// position is where a run is.
type position struct {
	Step     int       `json:"step"`               // of the pass
	Segments []segment `json:"segments,omitempty"` // of the step; nil before it begins
	Read     bool      `json:"read,omitempty"`     // all passes are made
}

// A segment is how far a part of a table is read.
type segment struct {
	After item.Item // key of the last item that was evaluated; nil at the start
	Done  bool
}

type storedSegment struct {
	After json.RawMessage `json:"after,omitempty"`
	Done  bool            `json:"done,omitempty"`
}

// MarshalJSON writes the key in DynamoDB's JSON.
func (s segment) MarshalJSON() ([]byte, error) {
	out := storedSegment{Done: s.Done}
	if s.After != nil {
		typed := map[string]any{}
		for name, av := range s.After {
			typed[name] = keyValue(av)
		}
		var err error
		if out.After, err = json.Marshal(typed); err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *segment) UnmarshalJSON(text []byte) error {
	var in storedSegment
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	s.Done = in.Done
	if in.After != nil {
		var problem string
		if s.After, problem = avjson.Item(in.After); problem != "" {
			return fmt.Errorf("a key: %s", problem)
		}
	}
	return nil
}

// keyValue returns a key attribute in DynamoDB's JSON.
func keyValue(av types.AttributeValue) map[string]any {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	}
	return nil
}

// saved is what a cursor holds.
type saved struct {
	Work   string   `json:"work"`
	At     position `json:"at"`
	Report Report   `json:"report"`
	Wrote  Cost     `json:"estimate"`
}

// work is equal for equal requests over equal declarations.
func (r *run) work(action string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %v\n", action, r.req.ID, r.req.Reference, r.req.Secrets)
	for _, s := range r.steps() {
		fmt.Fprintf(h, "%q %v\n", s.table, s.query != nil)
	}
	for _, t := range r.tracked {
		fmt.Fprintf(h, "%q %q %q %q\n", t.s.Name, t.table, t.s.Prefix, t.kept)
		for _, a := range t.s.Subjects {
			fmt.Fprintf(h, "%q\n", a.Name)
		}
	}
	fmt.Fprintf(h, "%q\n", r.views)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// cursor returns where another run goes on; r.mu is held, or nothing runs.
func (r *run) cursor() string {
	x := saved{Work: r.work(r.report.Action), At: r.at, Report: r.report}
	if r.report.Estimate != nil {
		x.Wrote = *r.report.Estimate
	}
	text, err := json.Marshal(x)
	if err != nil {
		return "" // all of it can be written
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// begin makes the report of a run: a new one, or that of the cursor.
func (r *run) begin(action string) error {
	r.report = Report{Action: action, Reference: r.req.Reference, Started: r.runner.Clock().UTC(), Runs: 1, Unreached: unreached, Estimate: &Cost{}}
	for _, t := range r.tracked {
		e := EntityReport{Entity: t.s.Name, Table: t.table, Route: "scan", Kept: t.kept}
		for _, a := range t.s.Subjects {
			e.Fields = append(e.Fields, a.Name)
		}
		for _, s := range r.steps() {
			if s.query == t {
				e.Route = "query"
			}
		}
		r.report.Entities = append(r.report.Entities, e)
	}
	for _, v := range r.views {
		r.report.Views = append(r.report.Views, ViewReport{View: v})
	}
	if r.req.Cursor == "" {
		return nil
	}
	var x saved
	text, err := base64.RawURLEncoding.DecodeString(r.req.Cursor)
	if err == nil {
		err = json.Unmarshal(text, &x)
	}
	switch {
	case err != nil:
		return mistake(codeCursor, "subject.Request", "Cursor", "it is no cursor of a report")
	case x.Work != r.work(action) || len(x.Report.Entities) != len(r.report.Entities) || len(x.Report.Views) != len(r.report.Views) || x.At.Step < 0 || x.At.Step > len(r.steps()) || len(x.At.Segments) > mostSegments:
		return mistake(codeCursor, "subject.Request", "Cursor", "it is of another request, or of other declarations")
	}
	r.report, r.at = x.Report, x.At
	r.report.Runs, r.report.Unreached, r.report.Estimate = r.report.Runs+1, unreached, &x.Wrote
	return nil
}
