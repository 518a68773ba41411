package timeline

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// stored is a row as it lies in the table. Rows of one generation are one partition, in the order of their groups.
type stored[K comparable, S any] struct {
	_ entity.Key `name:"Timeline" pk:"$#{generation}" sk:"$#{group}"`
	_ expiring

	Generation string    `dynamodbav:"generation"`
	Group      string    `dynamodbav:"group"`
	Key        K         `dynamodbav:"key"`
	State      S         `dynamodbav:"state"`
	Events     int64     `dynamodbav:"events"`
	First      time.Time `dynamodbav:"first"`
	Last       time.Time `dynamodbav:"last"`
	Touched    time.Time `dynamodbav:"touched"`
	Position   string    `dynamodbav:"position"`
	Newest     time.Time `dynamodbav:"newest,omitempty"` // when the last of them was accepted
	Tally      tally     `dynamodbav:"tally,omitempty"`  // of the events that were accepted less than 15 minutes before it
	Fence      int64     `dynamodbav:"fence"`
}

// directory is a part of the list of rows that pages begin at.
type directory struct {
	_ entity.Key `name:"TimelinePages" pk:"$#{generation}" sk:"$#{chunk}"`

	Generation string   `dynamodbav:"generation"`
	Chunk      int      `dynamodbav:"chunk" entity:"zero"`
	Groups     []string `dynamodbav:"groups"`         // of every hundredth row
	Ends       []byte   `dynamodbav:"ends,omitempty"` // for each, when it and the next 99 end, where rows do
	Fence      int64    `dynamodbav:"fence"`
}

// manifest is the one item that says which rows count, and who may change them.
type manifest struct {
	_ entity.Key `name:"TimelineManifest" pk:"$#{view}" sk:"$"`

	View     string       `dynamodbav:"view"`
	Format   int          `dynamodbav:"format"`
	Fence    int64        `dynamodbav:"fence"` // grows with every builder
	Saves    int64        `dynamodbav:"saves"` // grows with every write of the manifest
	Owner    string       `dynamodbav:"owner,omitempty"`
	Lease    time.Time    `dynamodbav:"lease,omitempty"` // until when the owner is trusted to be at work
	Active   *generation  `dynamodbav:"active,omitempty"`
	Building *generation  `dynamodbav:"building,omitempty"`
	Retired  []retirement `dynamodbav:"retired,omitempty"`
	Failure  *Failure     `dynamodbav:"failure,omitempty"`
}

// generation is one set of rows.
type generation struct {
	ID        string            `dynamodbav:"id"`
	Print     string            `dynamodbav:"fingerprint"`
	Started   time.Time         `dynamodbav:"started"`
	Finished  time.Time         `dynamodbav:"finished,omitempty"`
	Through   time.Time         `dynamodbav:"through"`          // events accepted up to here are in the rows
	Newest    time.Time         `dynamodbav:"newest,omitempty"` // when the last of them was accepted, by the events' own clocks
	Now       time.Time         `dynamodbav:"now"`              // events that had expired by then are not
	Rows      int64             `dynamodbav:"rows"`
	Counts    Counters          `dynamodbav:"counters"`
	Route     string            `dynamodbav:"route"`
	Segments  int               `dynamodbav:"segments,omitempty"`
	Positions map[string]string `dynamodbav:"positions,omitempty"` // segment → where to go on; "end" when it is through
	Evaluated int64             `dynamodbav:"evaluated"`           // items read so far
	Unlisted  bool              `dynamodbav:"unlisted,omitempty"`  // rows may have come that the directory does not list
	Baselines bool              `dynamodbav:"baselines,omitempty"` // items whose oldest states have expired were met
	Begins    time.Time         `dynamodbav:"begins,omitempty"`    // sources that lapse had no event before; zero: unknown
	Expected  int64             `dynamodbav:"expected"`            // items that the tables are said to hold
	Fence     int64             `dynamodbav:"fence,omitempty"`     // of the builder that is making it
}

// retirement is a generation that is read no more, but by those who began to.
type retirement struct {
	ID       string      `dynamodbav:"id"`
	At       time.Time   `dynamodbav:"at"`
	Was      *generation `dynamodbav:"was,omitempty"`      // as it was served; nil for one that was given up
	Sweeping bool        `dynamodbav:"sweeping,omitempty"` // rows may be gone
}

// expiring lets rows end with the retention of their view.
type expiring struct{}

// expiry is the compiled declaration.
type expiry struct {
	attr  string
	from  *schema.Attr
	after time.Duration
}

var _ plan.ExpirySetter = (*expiry)(nil) // nothing would miss it: rows would merely stay

// Declare is called by this module when a store is built.
func (expiring) Declare(d *schema.Decl) {
	s := d.Schema
	if s.Options.After == nil {
		return
	}
	d.Keep(&expiry{attr: s.Options.TTL, from: s.Attr("touched"), after: *s.Options.After})
	s.Expires, s.UsesTTL = true, true
}

// Stamps is the attribute that rows expire by.
func (e *expiry) Stamps() string { return e.attr }

// Derives reports that rows get an end without a caller.
func (e *expiry) Derives() bool { return true }

// From is the attribute that a row's end is counted from.
func (e *expiry) From() *schema.Attr { return e.from }

// Stamp is the end of a row.
func (e *expiry) Stamp(from types.AttributeValue, _ time.Time) (types.AttributeValue, error) {
	t, err := e.from.Format.FromValue(from)
	if err != nil {
		return nil, err
	}
	return item.N(strconv.FormatInt(e.end(t), 10)), nil
}

func (e *expiry) end(t time.Time) int64 { return endOf(t, e.after) }

// endOf is when something ends that lives for a time after t, in seconds since 1970.
func endOf(t time.Time, after time.Duration) int64 { return t.Unix() + int64(after/time.Second) }

// Chosen reports that a caller chose the end, which none does.
func (e *expiry) Chosen(types.AttributeValue) bool { return false }

// stores are the tables of one view.
type stores struct {
	rows      rows
	pages     *entity.Store[directory]
	manifests *entity.Store[manifest]
	core      *core.Core
}

// itemOptions declare items of a view: what says which ones.
func itemOptions(f Projection[any, any], what string) []entity.StoreOption {
	return []entity.StoreOption{
		entity.Named("Timeline" + what + "-" + f.Name),
		forStore{Do: func(o *opt.Store) { o.Table, o.Own, o.Derived = f.Table, true, true }},
	}
}

// rowOptions declare the rows of a view.
func rowOptions(f Projection[any, any]) []entity.StoreOption {
	return append(itemOptions(f, ""), forStore{Do: func(o *opt.Store) {
		if f.Retention > 0 {
			o.After = &f.Retention
		}
	}})
}

// open declares the other items of a view.
func open(db *entity.DB, f Projection[any, any], rows rows) (s stores, err error) {
	s.rows = rows
	if s.pages, err = entity.New[directory](db, itemOptions(f, "Pages")...); err != nil {
		return s, err
	}
	s.manifests, err = entity.New[manifest](db, itemOptions(f, "Manifest")...)
	if err == nil {
		s.core = core.Of(s.manifests)
	}
	return s, err
}

type (
	forStore  = opt.ForStore
	forCreate = opt.ForCreate
)

// fenced marks a write as one that may be sent again after a lost answer. Its condition is on the fence, which only
// grows, so that it fails for ever once another builder has written; and a builder writes an item no second time before
// the first write has ended. The manifest is never removed, so that creating it twice is refused.
func fenced() entity.DeliveryOption {
	return forCreate{Do: func(o *opt.Create) { o.SoleWriter = true }}
}
