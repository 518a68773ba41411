package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// decode reads a request's body: one JSON object without unknown fields. Its error does not quote the body.
func decode(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &problem{Status: http.StatusRequestEntityTooLarge, Code: "BODY_TOO_LARGE", Message: fmt.Sprintf("the body may have %d bytes", large.Limit)}
	}
	return &problem{Status: http.StatusBadRequest, Code: "INVALID_JSON", Message: "the body must be one object with the fields of this request, and no others"}
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
	usualPage   = 50
	longestPage = 1000
)

// pageSize returns the limit of a request: at most the longest page, an error below 1.
func pageSize(r *http.Request) (int, error) {
	n, ok, err := wholeNumber(r, "limit")
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return usualPage, nil
	case n < 1:
		return 0, &invalid{[]violation{{"limit", "at least 1 is needed"}}}
	}
	return int(min(n, longestPage)), nil
}
