// Package entitytype has the data types that calls of this module take and return: errors, reports, pages, and the client
// interface. Package entity and the feature packages export them under the same names, so most programs do not import it.
package entitytype
