package studio

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// whole gives the values of which a part was left out a link to all of them. The link is sealed: it names an item by its key.
func (s *Server) whole(values []Value) {
	for i := range values {
		s.wholeOf(&values[i])
	}
}

func (s *Server) wholeOf(v *Value) {
	if v != nil && v.Whole != nil {
		v.Link = "value?v=" + s.seal("value", v.Whole)
	}
}

// value answers with all of a value, as a file.
func (s *Server) value(r *visit) (*view, error) {
	var whole []byte
	if err := s.open("value", r.URL.Query().Get("v"), &whole); err != nil {
		return nil, err
	}
	c, err := s.data.Content(r.ctx, whole)
	if err != nil {
		return nil, err
	}
	return &view{File: &c}, nil
}

// download writes a value as a file that a browser saves, and does not show.
func download(w http.ResponseWriter, c *Content) {
	kind, suffix := "application/json", ".json"
	switch c.Type {
	case "S":
		kind, suffix = "text/plain; charset=utf-8", ".txt"
	case "B":
		kind, suffix = "application/octet-stream", ".bin"
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(c.Entity) + "-" + fileName(c.Name) + suffix}))
	h.Set("Content-Length", strconv.Itoa(len(c.Bytes)))
	_, _ = w.Write(c.Bytes) // the browser may be gone
}

// fileName is a name with letters, digits and - only.
func fileName(s string) string {
	const most = 60
	s = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, s)
	return s[:min(len(s), most)]
}
