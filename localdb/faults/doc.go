// Package faults makes DynamoDB fail on purpose, holds requests back, and records what was sent.
//
// Local databases never refuse a transaction because of another one, never throttle and never lose an answer. To test code that has
// to survive all of this, put a [Transport] between the SDK's client and the database:
//
//	transport := faults.New(nil)
//	client, table := localdb.Test(t, func(o *dynamodb.Options) { o.HTTPClient = transport })
//	...
//	transport.Inject(faults.Nth(1, faults.Conflict, "TransactWriteItems"))
//	err := transfer(ctx, client, table)
//	require.NoError(t, err)
//	require.Equal(t, 2, transport.Count("TransactWriteItems"))
//
// The answers have the service's own form, so the SDK returns its typed errors, such as types.TransactionCanceledException
// with one reason per action.
//
// A transport sees HTTP requests, that is attempts: a call that the SDK retries is several requests, and each reaches the fault
// function. To fail a call for good, fail as many requests as the client's retryer makes, or set dynamodb.Options.RetryMaxAttempts
// to 1.
//
// Other faults of a network are included: a request can arrive [Twice], or [Late], when the test calls [Transport.Deliver].
//
// To find where a crash or a lost answer does harm, fail every request of a scenario in turn:
//
//	for n := 1; ; n++ {
//		transport.Reset()
//		transport.Inject(faults.Nth(n, faults.Lost))
//		err := scenario(ctx, client)
//		transport.Inject(nil)
//		checkInvariants(t, client, err)
//		if n >= len(transport.Requests()) {
//			break // the n-th request was the last one, or did not happen
//		}
//	}
package faults
