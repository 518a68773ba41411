package subject

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/internal/engine"
)

// A Kind is a kind of stored item.
type Kind string

// The kinds of items.
const (
	Current Kind = "current" // the item itself
	Version Kind = "version" // a past state of package versioned
	Event   Kind = "event"   // of a series
	Copy    Kind = "copy"    // a soft-deleted item
	Claim   Kind = "claim"   // of a unique value
	Row     Kind = "row"     // of a timeline
	Other   Kind = "other"   // of none of these
)

// Why items that name the subject stay.
const (
	leftShown      = "the current item of the series shows it until the next event: append one, or call Series.Remove for such events before an erasure"
	leftShared     = "it names others, too: take the subject out of the set or list, or purge the item"
	leftBusy       = "written too often meanwhile: erase again"
	leftUnreadable = "it cannot be read in its payload version: migrate or repair it, then erase again"
	leftKind       = "a related item of an unknown kind: a later version of the library may have written it"
	leftUnguarded  = "it has too many attributes to be guarded by its content, and neither a write id nor a version"
	leftRow        = "a row is folded from events: build the view again; the first build more than 15 minutes later removes what it replaced"
	leftReplaced   = "rows of the generation before stay for readers for 15 minutes; the first build after that removes them"
	leftForeign    = "no bound entity knows the item"
	leftCheckpoint = "a checkpoint of package migrate names a key: end that work, or remove the checkpoint"
)

// Left counts items that name the subject and stay, for a reason.
type Left struct {
	Kind   Kind   `json:"kind"`
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// EntityReport says what became of the items of an entity.
type EntityReport struct {
	Entity   string       `json:"entity"`
	Table    string       `json:"table"`
	Fields   []string     `json:"fields"`             // attributes that name subjects
	Route    string       `json:"route"`              // how items are found: "query" or "scan"
	Kept     string       `json:"kept,omitempty"`     // why its items stay
	Exported map[Kind]int `json:"exported,omitempty"` // items written
	Erased   map[Kind]int `json:"erased,omitempty"`   // items that are gone; of a dry run those that would go
	Emptied  map[Kind]int `json:"emptied,omitempty"`  // past states of items of others, which lost their content
	Left     []Left       `json:"left,omitempty"`     // items that name the subject and stay
}

// ViewReport says what became of a view whose rows are folded from erased items.
type ViewReport struct {
	View    string `json:"view"`
	Rows    int    `json:"rows"`             // rows with the subject in key or state that the last pass has found
	Rebuilt bool   `json:"rebuilt"`          // Erase has built it again
	Advice  string `json:"advice,omitempty"` // what remains to be done
}

// Unreached is a place that the library cannot reach.
type Unreached struct {
	Place string `json:"place"`
	Until string `json:"until"` // how long data stays there, or who removes it
}

// unreached lists what no request of the library reaches.
var unreached = []Unreached{
	{"DynamoDB Streams of the tables", "24 hours after each write; the removals are in them, too"},
	{"Kinesis streams of the tables, and what their consumers have stored", "their own retention, 24 hours to 365 days"},
	{"point-in-time recovery", "up to 35 days; erase again after a restore"},
	{"on-demand backups, and those of AWS Backup", "until they are deleted; erase again after a restore"},
	{"exports to S3, dumps, and copies in other tables and systems", "until they are deleted there"},
	{"replicas in other Regions", "they follow within seconds; an export in one Region does not read the others"},
	{"logs, traces and caches of programs", "their own retention"},
	{"items of entities that are not bound, and attributes without the role subject", "until they are bound and declared"},
}

// Cost sums up what requests cost.
type Cost struct {
	Requests   int     `json:"requests"`
	ReadUnits  float64 `json:"readUnits"`
	WriteUnits float64 `json:"writeUnits"`
}

func (c *Cost) add(r engine.Report) {
	c.Requests += r.Requests
	c.ReadUnits += r.ReadUnits
	c.WriteUnits += r.WriteUnits
}

// Report says what was done with the data of a subject. It can be filed: it names the subject by Reference alone, and holds no key and no
// value of an item.
type Report struct {
	Action    string         `json:"action"` // "export", "erase", or "dry run"
	Reference string         `json:"reference,omitempty"`
	Started   time.Time      `json:"started"`
	Finished  time.Time      `json:"finished,omitzero"` // when the last run ended
	Runs      int            `json:"runs"`              // more than 1 after an interrupt
	Done      bool           `json:"done"`              // everything was read
	Passes    int            `json:"passes"`            // how often the tables were read to their end
	LastPass  int            `json:"lastPass"`          // what the last of them has erased or emptied; 0: nothing was left to find
	Evaluated int            `json:"evaluated"`         // items read by queries and scans, of any entity
	Entities  []EntityReport `json:"entities"`
	Others    []Left         `json:"others,omitempty"` // items with the subject's id that belong to no entity with a subject
	Views     []ViewReport   `json:"views,omitempty"`
	Secrets   []string       `json:"secretsLeftOut,omitempty"` // of an export: entity.attribute
	Unreached []Unreached    `json:"unreached"`
	Cost      Cost           `json:"cost"`               // of all requests
	Estimate  *Cost          `json:"estimate,omitempty"` // of a dry run: what Erase would cost, without indexes
	Cursor    string         `json:"-"`                  // where to go on if it is not Done; it holds keys, so do not file it
}

// Clean reports whether everything was read, and nothing that names the subject was found to stay: the last pass found nothing to erase, no
// item was left or kept, and every view was built again.
func (r Report) Clean() bool {
	stays := !r.Done || r.LastPass > 0 || len(r.Others) > 0
	for _, e := range r.Entities {
		stays = stays || len(e.Left) > 0
	}
	for _, v := range r.Views {
		stays = stays || v.Advice != ""
	}
	return !stays
}

// Erased returns how many items are gone or emptied.
func (r Report) Erased() (n int) {
	for _, e := range r.Entities {
		n += sum(e.Erased) + sum(e.Emptied)
	}
	return n
}

// String returns the counts on one line.
func (r Report) String() string {
	exported, left := 0, 0
	for _, e := range r.Entities {
		exported += sum(e.Exported)
		for _, l := range e.Left {
			left += l.Count
		}
	}
	for _, l := range r.Others {
		left += l.Count
	}
	text := fmt.Sprintf("%s: %d items exported", r.Action, exported)
	if r.Action != actionExport {
		text = fmt.Sprintf("%s: %d items erased or emptied, %d left", r.Action, r.Erased(), left)
	}
	if !r.Done {
		text += ", not done"
	}
	return text
}

func sum(m map[Kind]int) (n int) {
	for _, k := range m {
		n += k
	}
	return n
}

// clone returns a copy that shares nothing with r that changes.
func (r Report) clone() Report {
	r.Entities, r.Others, r.Views, r.Secrets = slices.Clone(r.Entities), slices.Clone(r.Others), slices.Clone(r.Views), slices.Clone(r.Secrets)
	for i := range r.Entities {
		e := &r.Entities[i]
		e.Exported, e.Erased, e.Emptied, e.Left = maps.Clone(e.Exported), maps.Clone(e.Erased), maps.Clone(e.Emptied), slices.Clone(e.Left)
	}
	if r.Estimate != nil {
		estimate := *r.Estimate
		r.Estimate = &estimate
	}
	return r
}

// count adds to a count.
func count(m *map[Kind]int, k Kind, n int) {
	if *m == nil {
		*m = map[Kind]int{}
	}
	(*m)[k] += n
}

// leave adds to the count of a kind and reason, in the order of both.
func leave(list []Left, k Kind, reason string, n int) []Left {
	compare := func(a, b Left) int {
		return slices.Compare([]string{string(a.Kind), a.Reason}, []string{string(b.Kind), b.Reason})
	}
	one := Left{k, reason, n}
	at, found := slices.BinarySearchFunc(list, one, compare)
	if found {
		list[at].Count += n
		return list
	}
	return slices.Insert(list, at, one)
}

// begin forgets what the pass before has found to stay: the next pass finds it again.
func (r *Report) begin() {
	r.LastPass, r.Others = 0, nil
	for i := range r.Entities {
		r.Entities[i].Left = nil
	}
	for i := range r.Views {
		r.Views[i].Rows = 0
	}
}
