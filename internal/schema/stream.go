package schema

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// streamViews are the words of entity.Key's stream, in the order in which they are listed to people.
var streamViews = []struct {
	word string
	view types.StreamViewType
}{
	{"new", types.StreamViewTypeNewImage}, {"old", types.StreamViewTypeOldImage},
	{"both", types.StreamViewTypeNewAndOldImages}, {"keys", types.StreamViewTypeKeysOnly},
}

// stream reads entity.Key's stream.
func (d *Decl) stream() {
	text, ok := d.Tag("stream")
	if !ok {
		return
	}
	var words []string
	for _, v := range streamViews {
		if words = append(words, v.word); v.word == text {
			d.Schema.Stream = v.view
			return
		}
	}
	d.Problem(CodeMalformed, "stream:%q must be one of %s", text, strings.Join(words, ", "))
}
