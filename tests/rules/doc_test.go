// Package rules_test holds rules that span packages of the library, on a local database and on plans. They share a package because each
// test program is linked with the whole SDK. The files are named after what they are about:
//
//   - conditions: what conditions say of absent attributes, of what has no order, ranges with two ends, and items that an index would leave out
//   - counters: changes together with whole values, changes at paths, and the item before a write
//   - defaults: what completes a value before it is written: defaults, generated ids and Prepare methods
//   - keys: keys, cursors and secrets as a program meets them
//   - modify: what a Modify leaves as it is stored
//   - shards: indexes whose partitions are spread: a model of all verbs, and what queries take
//   - tables: what a DB makes of its declarations, prints and verifies, and what changes later
//   - validate, validator: what validates values before they are written: their own Validate methods, and the configured Validator
//   - when: indexes that hold items only while a condition holds
package rules_test
