// Package migrate changes live tables. [Rewrite] brings the stored items of an entity to today's declaration: index keys,
// earlier payload versions, hidden attributes and unique values that are missing or out of date. [Check] reads a table and reports what does not
// belong there. [VerifyUnique] compares unique values with their sentinels, and [RepairUnique] corrects what does not agree. [Copy] makes
// new items of old ones, for changes that leave none as it is, and cuts over. Other programs can read and write the table meanwhile.
//
// docs/evolution.md says how to run them, what they cost, and what a killed run leaves.
//
// The package is experimental: its API may change with every minor version.
package migrate
