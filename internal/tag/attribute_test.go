package tag_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/tag"
)

func TestParseAttribute(t *testing.T) {
	tests := map[string]tag.Attribute{
		"":                {},
		"-":               {Skip: true},
		"a":               {Name: "a"},
		"any name.at:all": {Name: "any name.at:all"},
		",omitempty":      {OmitEmpty: true},
		"a,omitempty":     {Name: "a", OmitEmpty: true},
		"a,omitemptyelem": {Name: "a", OmitEmptyElem: true},
		"a,nullempty":     {Name: "a", NullEmpty: true},
		"a,nullemptyelem": {Name: "a", NullEmptyElem: true},
		"a,string":        {Name: "a", String: true},
		"a,unixtime":      {Name: "a", UnixTime: true},
		"a,stringset":     {Name: "a", Set: "string"},
		"a,numberset":     {Name: "a", Set: "number"},
		"a,binaryset":     {Name: "a", Set: "binary"},
		"a,omitempty,stringset,nullemptyelem": {
			Name: "a", OmitEmpty: true, Set: "string", NullEmptyElem: true,
		},
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			got, err := tag.ParseAttribute(text)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

func TestParseAttributeErrors(t *testing.T) {
	tests := []struct {
		text string
		pos  int
		part string
	}{
		{"-,omitempty", 1, "takes no options"},
		{"-,", 1, "takes no options"},
		{"a,", 2, "empty option"},
		{"a,,omitempty", 2, "empty option"},
		{"a,omitempty,", 12, "empty option"},
		{"a,omitempty,omitempty", 12, "omitempty is given twice"},
		{"a,stringset,numberset", 12, "a stringset already"},
		{"a,omitzero", 2, "omitempty covers zero times"},
		{"a,omitemtpy", 2, `did you mean "omitempty"?`},
		{"a, omitempty", 2, `did you mean "omitempty"?`},
		{"a,unixtime,Omitempty", 11, `did you mean "omitempty"?`},
		{"a,banana", 2, `unknown option "banana"`},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			got, err := tag.ParseAttribute(test.text)
			requireProblem(t, err, test.pos, test.part)
			assert.Zero(t, got)
		})
	}
}
