// Package sigv4 signs the requests that package wire writes, with Signature Version 4. It knows one shape of request: a POST to
// "/" without a query, with a body of known hash and length, and with the headers that the SDK sends to DynamoDB. Any other
// request is left to the SDK's signer, so a request that a newer SDK sends otherwise is signed by that SDK.
package sigv4
