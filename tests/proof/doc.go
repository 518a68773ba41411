// Package proof checks the promises of the library under faults: histories of concurrent clients by a linearizability checker, a fault at each
// request of each write, and guards that are changed one at a time. It is a module of its own, so that what it needs is no dependency of the library.
//
// docs/production.md says what is promised, what the last run counted, and how to run it.
package proof
