// Package wire reads and writes DynamoDB's JSON. Items of an answer stay text with an index of their values until a struct or an
// attribute value is made of one: no map of attribute values is built for items that go into structs.
//
// Parse accepts what DynamoDB sends and is strict about it. Whatever else the SDK accepts, and everything that it
// rejects, is left to the SDK, so that results and errors are the SDK's in every case. See [Call].
//
// A [Writer] writes the text of a request, with the names of maps in order.
package wire
