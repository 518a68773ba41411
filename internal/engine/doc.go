// Package engine sends plans to DynamoDB, and holds what the public handles have in common. It does every retry itself: the
// SDK's retryer is off, because it hides lost answers and repeats additions. The public handles are here without their type
// parameter (core.go, operation.go); they embed Handle under an unexported name, so that only this module can open them.
package engine
