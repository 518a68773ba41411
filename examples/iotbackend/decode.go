package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// decode reads a request's body: one JSON object without unknown fields.
func decode(r *http.Request, into any) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return &problem{Status: http.StatusUnsupportedMediaType, Code: "UNSUPPORTED_MEDIA_TYPE", Message: "the body must be application/json"}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return unread(err)
	}
	if err := decodeObject(body, into); err != nil {
		return &problem{Status: http.StatusBadRequest, Code: "INVALID_JSON", Message: jsonProblem(err)}
	}
	return nil
}

// unread reports why a body did not arrive.
func unread(err error) *problem {
	var large *http.MaxBytesError
	var waited net.Error
	switch {
	case errors.As(err, &large):
		return &problem{Status: http.StatusRequestEntityTooLarge, Code: "BODY_TOO_LARGE", Message: fmt.Sprintf("the body may have %d bytes", large.Limit)}
	case errors.As(err, &waited) && waited.Timeout():
		return &problem{Status: http.StatusRequestTimeout, Code: "BODY_TIMEOUT", Message: "the body did not arrive in time", RetryAfter: time.Second}
	}
	return &problem{Status: http.StatusBadRequest, Code: "INVALID_JSON", Message: jsonProblem(err)}
}

var errNoObject = errors.New("the body is not one object")

// decodeObject decodes exactly one object: the decoder alone would accept null.
func decodeObject(body []byte, into any) error {
	if text := bytes.TrimLeft(body, " \t\r\n"); len(text) > 0 && text[0] != '{' {
		return errNoObject
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errNoObject
	}
	return nil
}

// jsonProblem describes what is wrong with a body, without quoting it.
func jsonProblem(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return "the body is empty"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the body ends too early"
	case errors.As(err, &syntax):
		return fmt.Sprintf("the body is no JSON from byte %d on", syntax.Offset)
	case errors.As(err, &kind):
		what, _, _ := strings.Cut(kind.Value, " ") // a number's digits follow
		return fmt.Sprintf("%s: a %s does not fit there", kind.Field, what)
	}
	return "the body must be one object with the fields of this request, and no others"
}

// wholeNumber reads an integer from the query. ok is false if it is missing.
func wholeNumber(r *http.Request, name string) (n int64, ok bool, err error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, true, &invalid{[]violation{{name, "a whole number is needed"}}}
	}
	return n, true, nil
}

// Sizes of pages.
const (
	usualPage      = 50
	longestPage    = 1000
	longestKeyPage = 100
)

// pageSize returns the limit of a request: at most the longest page, an error below 1.
func pageSize(r *http.Request, longest int64) (int, error) {
	n, ok, err := wholeNumber(r, "limit")
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return usualPage, nil
	case n < 1:
		return 0, &invalid{[]violation{{"limit", "at least 1 is needed"}}}
	}
	return int(min(n, longest)), nil
}
