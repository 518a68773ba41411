// Package write turns a verb with its arguments into a plan: the item to read first, and the actions that DynamoDB applies
// together, each with its guard. Plans are made without a network and can be printed. The files are in four layers, each of
// which uses only those before it:
//
//   - the options of verbs, sealed, and what they ask for (options.go, budget.go, pace.go)
//   - what stands on disk, as docs/layout.md describes it (stored.go, items.go and others)
//   - arguments checked and encoded: keys, values, conditions, changes, and the index keys that follow (values.go and others)
//   - plans, one file for each verb, and what a refusal means (op.go and others)
package write
