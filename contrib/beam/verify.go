package beamx

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dynastrata/dynastrata/migrate"
)

func init() {
	register.DoFn4x1[context.Context, int, func([]byte, []byte), func(migrate.UniqueReport), error](&compareFn{})
	register.DoFn4x1[context.Context, []byte, func(*[]byte) bool, func(migrate.UniqueFinding), error](&examineFn{})
	register.Emitter2[[]byte, []byte]()
	register.Emitter1[migrate.UniqueReport]()
	register.Emitter1[migrate.UniqueFinding]()
	register.Iter1[[]byte]()
	register.Function2x1(sumCounts)
	beam.RegisterCoder(reflect.TypeFor[migrate.UniqueReport](), encodeCounts, decodeCounts)
	beam.RegisterCoder(reflect.TypeFor[migrate.UniqueFinding](), encodeFinding, decodeFinding)
}

// Lookup is a *unique.Lookup of any type.
type Lookup interface{ migrate.Lookup }

// VerifyOptions says how to verify a constraint.
type VerifyOptions struct {
	Segments int // parts of the table, 1 to 1,000,000, each of which is the work of one worker
	Budget   Budget
}

// VerifyUnique compares the values of a unique constraint with their sentinels, as migrate.VerifyUnique does. Segments of
// the table are compared, what does not agree is grouped by value, and each of these values is examined again. The results
// are a PCollection<migrate.UniqueFinding> with what is damaged, and a PCollection<migrate.UniqueReport> with one report that has the
// counts. Findings as JSON have the keys of items, and not the value.
//
// It writes nothing, so bundles can be repeated. It costs what Verify costs. The runner shuffles values that do not agree, under
// their hashes, and stores them as it stores all elements. The transform fails with the errors of migrate.VerifyUniqueSegment and migrate.ExamineUnique.
func VerifyUnique[L Lookup](s beam.Scope, lookup Opener[L], o VerifyOptions) (findings, counts beam.PCollection) {
	s = s.Scope("dynastrata.VerifyUnique")
	name := lookup.registered()
	suspects, reports := beam.ParDo2(s, &compareFn{Lookup: name, Options: o}, segments(s, o.Segments))
	findings = beam.ParDo(s, &examineFn{Lookup: name}, beam.GroupByKey(s, suspects))
	return findings, beam.Combine(s, sumCounts, reports)
}

// compareFn compares one segment, and emits suspects by the hash of their value.
type compareFn struct {
	Lookup  string
	Options VerifyOptions
}

func (f *compareFn) ProcessElement(ctx context.Context, i int, suspects func([]byte, []byte), reports func(migrate.UniqueReport)) error {
	lookup, err := handle[Lookup](ctx, f.Lookup)
	if err != nil {
		return err
	}
	var opts []migrate.PassOption
	if b := f.Options.Budget.units(f.Lookup); b != nil {
		opts = append(opts, b)
	}
	report, err := migrate.VerifyUniqueSegment(ctx, lookup, i, f.Options.Segments, func(x migrate.Suspect) error {
		data, err := x.MarshalBinary()
		hash := sha256.Sum256([]byte(x.Value()))
		suspects(hash[:], data)
		return err
	}, opts...)
	if err == nil {
		reports(report)
	}
	return err
}

// examineFn examines one value.
type examineFn struct{ Lookup string }

func (f *examineFn) ProcessElement(ctx context.Context, _ []byte, next func(*[]byte) bool, emit func(migrate.UniqueFinding)) error {
	lookup, err := handle[Lookup](ctx, f.Lookup)
	if err != nil {
		return err
	}
	var suspects []migrate.Suspect
	seen := map[string]bool{} // a value is suspected by its sentinel and by its item
	for data := []byte(nil); next(&data); {
		if seen[string(data)] {
			continue
		}
		seen[string(data)] = true
		var x migrate.Suspect
		if err := x.UnmarshalBinary(data); err != nil {
			return err
		}
		suspects = append(suspects, x)
	}
	finding, damaged, err := migrate.ExamineUnique(ctx, lookup, suspects...)
	if err == nil && damaged {
		emit(finding)
	}
	return err
}

func sumCounts(a, b migrate.UniqueReport) migrate.UniqueReport {
	return migrate.UniqueReport{Items: a.Items + b.Items, Sentinels: a.Sentinels + b.Sentinels, Unreadable: a.Unreadable + b.Unreadable}
}

func encodeCounts(r migrate.UniqueReport) ([]byte, error) { return json.Marshal(r) }

func decodeCounts(data []byte) (r migrate.UniqueReport, err error) {
	err = json.Unmarshal(data, &r)
	return r, err
}

func encodeFinding(f migrate.UniqueFinding) ([]byte, error) { return json.Marshal(f) }

func decodeFinding(data []byte) (f migrate.UniqueFinding, err error) {
	err = json.Unmarshal(data, &f)
	return f, err
}
