package subject_test

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/subject"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
)

// mistakes are the codes and fields of all mistakes in an error.
func mistakes(err error) (all []string) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{dbtest.InputCode(err)}
	}
	for _, one := range joined.Unwrap() {
		var x *entity.InputError
		if errors.As(one, &x) {
			all = append(all, x.Code+" "+x.Field)
		}
	}
	return all
}

func unopened(t *testing.T) *entity.DB {
	t.Helper()
	db, err := entity.Open(nil, entity.Config{Table: "app"})
	require.NoError(t, err)
	return db
}

func TestNew_ReportsEveryMistake(t *testing.T) {
	t.Parallel()
	db := unopened(t)
	_, err := entity.Bind[app](db, timeline.Define(byCustomer))
	require.NoError(t, err)
	build := func(context.Context) error { return nil }
	_, err = subject.New(db, subject.Options{
		Segments: 65, Passes: 1, ReadUnits: -1, WriteUnits: math.NaN(),
		Keep:  []subject.Keep{{"Order", "law"}, {"Order", "law"}, {"Nothing", "law"}, {"Paper", " "}},
		Views: []subject.View{{"totals", build}, {"totals", build}, {"other", build}},
	})
	assert.Equal(t, []string{
		"SUBJ-01 Segments", "SUBJ-01 Passes", "SUBJ-01 ReadUnits", "SUBJ-01 WriteUnits", "SUBJ-03 Keep[1]", "SUBJ-03 Keep[2]", "SUBJ-03 Keep[3]", "SUBJ-04 Views[1]", "SUBJ-04 Views[2]",
	}, mistakes(err))
	_, err = subject.New(db, subject.Options{Views: []subject.View{{"totals", nil}}, Segments: -1, Passes: 21, ReadUnits: 0.1, WriteUnits: math.Inf(1)})
	assert.Equal(t, []string{"SUBJ-01 Segments", "SUBJ-01 Passes", "SUBJ-01 ReadUnits", "SUBJ-01 WriteUnits", "SUBJ-04 Views[0]"}, mistakes(err))
	_, err = subject.New(nil, subject.Options{})
	assert.Equal(t, []string{"SUBJ-01 "}, mistakes(err))
	_, err = subject.New(unopened(t), subject.Options{})
	assert.Equal(t, []string{"SUBJ-02 "}, mistakes(err))
}

func TestRequests_AreCheckedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	db := unopened(t)
	_, err := entity.Bind[app](db, timeline.Define(byCustomer))
	require.NoError(t, err)
	x, err := subject.New(db, subject.Options{})
	require.NoError(t, err)
	for name, req := range map[string]struct {
		subject.Request
		export bool
		w      io.Writer
		code   string
	}{
		"no id":               {subject.Request{}, false, nil, "SUBJ-05"},
		"no writer":           {subject.Request{ID: ada}, true, nil, "SUBJ-05"},
		"dry export":          {subject.Request{ID: ada, DryRun: true}, true, io.Discard, "SUBJ-05"},
		"secrets of an erase": {subject.Request{ID: ada, Secrets: true}, false, nil, "SUBJ-05"},
		"no cursor":           {subject.Request{ID: ada, Cursor: "?"}, false, nil, "SUBJ-06"},
		"no JSON":             {subject.Request{ID: ada, Cursor: "YQ"}, false, nil, "SUBJ-06"},
		"another cursor":      {subject.Request{ID: ada, Cursor: "e30"}, false, nil, "SUBJ-06"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			if req.export {
				_, err = x.Export(t.Context(), req.Request, req.w)
			} else {
				_, err = x.Erase(t.Context(), req.Request)
			}
			assert.Equal(t, req.code, dbtest.InputCode(err))
		})
	}
	for _, none := range []*subject.Subjects{nil, {}} {
		_, err = none.Erase(t.Context(), subject.Request{ID: ada})
		assert.Equal(t, "SUBJ-07", dbtest.InputCode(err))
	}
	var noContext context.Context
	_, err = x.Erase(noContext, subject.Request{ID: ada})
	assert.Equal(t, "EDD-9161", dbtest.InputCode(err))
	_, err = x.Erase(t.Context(), subject.Request{ID: ada})
	require.ErrorIs(t, err, entity.ErrNoClient)
}

func TestReadme_ExplainsEveryCode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("errors.go")
	require.NoError(t, err)
	code := regexp.MustCompile(`SUBJ-\d\d`)
	declared := code.FindAllString(string(source), -1)
	require.Len(t, slices.Compact(slices.Clone(declared)), 7)
	assert.Equal(t, declared, code.FindAllString(string(text), -1))
}
