package main

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
)

// requests that this library sends for a row otherwise than the raw SDK, with what justifies it.
var differs = map[string][]string{
	"put":         {"UpdateItem"},                  // an attribute that the struct lacks survives
	"soft delete": {"Query", "TransactWriteItems"}, // the query also finds the newest copy, after which the new one must sort
}

// The measured calls send what they should, and every library returns the same from the same answers.
func TestRows_SendTheSameAndReturnTheSame(t *testing.T) {
	t.Parallel()
	c := &canned{}
	for _, r := range allTimed(c, nil) {
		t.Run(r.name, func(t *testing.T) {
			var want []string
			var result any
			for lib, run := range r.run {
				c.answer(r.answers, true)
				got, err := run(t.Context())
				require.NoError(t, err, libraries[lib])
				var sent []string
				for _, s := range c.sent {
					if s.operation != "DescribeTable" { // once in a process
						sent = append(sent, s.operation)
					}
				}
				if lib == int(withRaw) {
					want, result = sent, got
				}
				if other, ok := differs[r.name]; ok && slices.Contains(own, library(lib)) {
					require.Equal(t, other, sent, libraries[lib])
				} else {
					require.Equal(t, want, sent, libraries[lib])
				}
				require.Equal(t, result, got, libraries[lib])
				for _, s := range c.sent {
					if !reads[s.operation] {
						require.Equal(t, r.refused != nil, guarded(t, s), "%s: a write has a condition", libraries[lib])
					}
				}
			}
		})
	}
}

// own are the libraries that are this one.
var own = []library{withOurs, withOursIgnoring, withOursSeeing}

var reads = map[string]bool{"DescribeTable": true, "GetItem": true, "Query": true, "Scan": true, "BatchGetItem": true}

// guarded reports whether every write of a request has a condition. A request that mixes both fails the test.
func guarded(t *testing.T, sent request) bool {
	t.Helper()
	var body struct {
		ConditionExpression string
		TransactItems       []map[string]struct{ ConditionExpression string }
	}
	require.NoError(t, json.Unmarshal([]byte(sent.body), &body))
	if body.TransactItems == nil {
		return body.ConditionExpression != ""
	}
	for _, actions := range body.TransactItems {
		for _, a := range actions {
			require.NotEmpty(t, a.ConditionExpression, "%s", sent.body)
		}
	}
	return true
}

// On a database every library returns the same, stores the same, and fails where the others do.
func TestRows_DoTheSameOnADatabase(t *testing.T) {
	t.Parallel()
	client, name := localdb.Test(t)
	db, err := openDatabase(t.Context(), client, name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.drop(context.Background())) })
	ctx := t.Context()
	for _, r := range rows(client, db.tables) {
		var result, stored any
		for lib, run := range r.run {
			require.NoError(t, db.store(ctx, r.before))
			got, err := run(ctx)
			require.NoError(t, err, "%s: %s", r.name, libraries[lib])
			left := visible(t, ctx, db)
			if lib == int(withRaw) {
				result, stored = got, left
			}
			require.Equal(t, result, got, "%s: %s", r.name, libraries[lib])
			require.Equal(t, stored, left, "%s: %s", r.name, libraries[lib])
			if r.reads {
				require.Len(t, left, len(r.before), r.name)
			}
			if r.refused != nil {
				require.NoError(t, db.store(ctx, r.refused))
				before := visible(t, ctx, db)
				_, err := run(ctx)
				require.Error(t, err, "%s: %s", r.name, libraries[lib])
				require.Equal(t, before, visible(t, ctx, db), "%s: %s", r.name, libraries[lib])
			}
		}
	}
}

// visible returns what is stored in both tables, without the attributes that only this library has.
func visible(t *testing.T, ctx context.Context, db *database) []string {
	t.Helper()
	var texts []string
	for _, table := range []string{db.plain, db.prefixed} {
		out, err := db.client.Scan(ctx, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
		require.NoError(t, err)
		for _, it := range out.Items {
			for _, name := range []string{"_w", "_k", "_at", "__edd_e__"} {
				delete(it, name)
			}
			texts = append(texts, object(it))
		}
	}
	slices.Sort(texts)
	return texts
}
