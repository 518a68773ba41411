// Package plan turns a verb with bound arguments into a plan: the item to read first, and the actions that DynamoDB applies together,
// each with its guard. It has one file for each verb. Plans are made without a network and can be printed.
package plan
