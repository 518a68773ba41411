// Package faults makes DynamoDB fail on purpose, holds requests back, and records what was sent.
//
// Local databases never refuse a transaction because of another one, never throttle and never lose an answer. Code that has to survive all of
// this is tested by putting a [Transport] between the SDK's client and the database:
//
//	transport := faults.New(nil)
//	client, table := localdb.Test(t, func(o *dynamodb.Options) { o.HTTPClient = transport })
//	...
//	transport.Inject(faults.Nth(1, faults.Conflict, "TransactWriteItems"))
//	err := transfer(ctx, client, table)
//	require.NoError(t, err)
//	require.Equal(t, 2, transport.Count("TransactWriteItems"))
//
// The answers have the service's own form, so that the SDK makes its typed errors of them, such as
// types.TransactionCanceledException with one reason per action.
//
// Everything here sees HTTP requests, that is attempts: a call that the SDK repeats after a failure is several requests, and its repetitions
// reach the same fault function as new ones. To fail a call for good, fail as many requests as the client's retryer makes, or set
// dynamodb.Options.RetryMaxAttempts to 1.
//
// What a network may do beyond failing is among the faults, too: a request arrives [Twice], or [Late], and then [Transport.Deliver] says when.
//
// To find the places where a crash or a lost answer does harm, fail every request of a scenario in turn:
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
