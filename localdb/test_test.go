package localdb

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// fakeTB records what Test does to a test.
type fakeTB struct {
	name     string
	said     string
	cleanups []func()
}

func (f *fakeTB) Helper()                     {}
func (f *fakeTB) Name() string                { return f.name }
func (f *fakeTB) Cleanup(c func())            { f.cleanups = append(f.cleanups, c) }
func (f *fakeTB) Skipf(text string, a ...any) { f.said += "skip: " + fmt.Sprintf(text, a...); panic(f) }
func (f *fakeTB) Fatalf(text string, a ...any) {
	f.said += "fatal: " + fmt.Sprintf(text, a...)
	panic(f)
}

var _ TB = (*testing.T)(nil)

func TestTest_WithoutADatabase(t *testing.T) {
	t.Parallel()
	none := func() (*Server, error) { return nil, errors.New("no 100% luck") }

	skipped := &fakeTB{}
	assert.PanicsWithValue(t, skipped, func() { testOn(skipped, none, false, nil) })
	assert.Equal(t, "skip: no 100% luck", skipped.said)

	failed := &fakeTB{}
	assert.PanicsWithValue(t, failed, func() { testOn(failed, none, true, nil) })
	assert.Equal(t, "fatal: no 100% luck", failed.said)
}

func TestSkipOn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind     string
		required bool
		want     string
	}{
		{KindDDBLocal, false, ""},
		{KindEndpoint, true, ""},
		{KindDynoxide, false, "skip: the database is dynoxide: 50% of it"},
		{KindDynoxide, true, "fatal: the database is dynoxide: 50% of it"},
	} {
		fake := &fakeTB{}
		call := func() {
			skipOn(fake, func() (*Server, error) { return &Server{kind: test.kind}, nil }, test.required, KindDynoxide, "50% of it")
		}
		if test.want == "" {
			call()
		} else {
			assert.PanicsWithValue(t, fake, call)
		}
		assert.Equal(t, test.want, fake.said)
	}
}

func TestTableName(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,175}$`)
	for _, test := range []string{"", "TestA", "TestA/with_spaces#01", "TestÄ/…/x", strings.Repeat("long/", 100)} {
		name := tableName(test)
		assert.Regexp(t, valid, name)
		assert.NotEqual(t, name, tableName(test))
	}
	assert.True(t, strings.HasPrefix(tableName("TestA/b c"), "TestA_b_c-"))
}
