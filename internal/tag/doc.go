// Package tag holds the grammar of declarations: it turns the text of a struct
// tag, or of one value in it, into a parsed declaration or into an error that
// knows its position. It knows nothing of Go types, attributes that exist, or
// DynamoDB; internal/schema checks those.
package tag
