package console

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/internal/studio"
)

// mostFindings are listed by a page.
const mostFindings = 500

// Count implements studio.Data.
func (d *studioData) Count(ctx context.Context, table string, report func(studio.Progress)) (all []studio.Count, err error) {
	if !slices.Contains(d.s.m.tables(), table) {
		return nil, badKey("there is no such table")
	}
	t, err := d.s.describe(ctx, table)
	if err != nil {
		return nil, err
	}
	total, done := int64(0), int64(0)
	if t.ItemCount != nil {
		total = *t.ItemCount
	}
	for page, err := range d.s.scan(ctx, table, &spent{}) {
		if err != nil {
			return all, stopped(ctx, err)
		}
		for _, it := range page {
			x := d.s.m.decode(table, it, d.s.app.Clock())
			all = counted(all, x.Entity, x.Kind, x.Size)
		}
		done += int64(len(page))
		report(studio.Progress{Done: done, Total: max(total, done), Text: table})
	}
	slices.SortFunc(all, func(a, b studio.Count) int {
		return strings.Compare(a.Entity+"\x00"+a.Kind, b.Entity+"\x00"+b.Kind)
	})
	return all, nil
}

// Check implements studio.Data, by the command check.
func (d *studioData) Check(ctx context.Context, report func(studio.Progress)) (studio.Health, error) {
	found := &findings{}
	s := *d.s
	s.out = &printer{w: found, json: true}
	s.err = &printer{w: &checkProgress{report: report}, width: 200}
	k := &checking{s: &s, counts: map[string]int{}}
	var h studio.Health
	for _, table := range s.m.tables() {
		if err := k.table(ctx, table); err != nil {
			return h, stopped(ctx, err)
		}
	}
	report(studio.Progress{Done: int64(k.items), Total: int64(k.items)})
	for _, kind := range slices.Sorted(maps.Keys(k.counts)) {
		h.Counts = append(h.Counts, studio.Count{Kind: kind, Items: int64(k.counts[kind])})
	}
	h.Findings, h.Items, h.Cost = found.all, k.items, studio.Cost{Requests: k.cost.Requests, Units: k.cost.ReadUnits}
	return h, nil
}

// findings takes what check prints as JSON, an object a line.
type findings struct{ all []studio.Finding }

func (f *findings) Write(line []byte) (int, error) {
	var x finding
	if err := json.Unmarshal(line, &x); err != nil {
		return 0, err
	}
	if len(f.all) < mostFindings {
		f.all = append(f.all, studio.Finding{Kind: x.Kind, Table: x.Table, Entity: x.Entity, Key: printable(x.Key, false), What: printable(x.What, false)})
	}
	return len(line), nil
}

// checkProgress takes what check draws while it runs.
type checkProgress struct{ report func(studio.Progress) }

func (p *checkProgress) Write(text []byte) (int, error) {
	if line := strings.TrimSpace(string(bytes.TrimPrefix(text, []byte("\r\x1b[K")))); line != "" {
		p.report(studio.Progress{Text: line})
	}
	return len(text), nil
}
