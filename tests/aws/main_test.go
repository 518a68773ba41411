package main

import (
	"crypto/rand"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/localdb"
)

// The suite holds on a local database, and leaves no table there.
func TestRun_OnALocalDatabase(t *testing.T) {
	localdb.SkipOn(t, localdb.KindDynoxide, "it builds no index on a live table")
	client, _ := localdb.Test(t)
	endpoint := *client.Options().BaseEndpoint
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": endpoint, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": endpoint, "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
	} {
		t.Setenv(name, value)
	}
	prefix := "aws-" + rand.Text()[:8] + "-"
	if err := run(t.Context(), prefix, "us-east-1", true); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{prefix + "main", prefix + "slow"} {
		if _, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table}); err == nil {
			t.Errorf("the table %s was left behind", table)
		}
	}
	if err := run(t.Context(), "no good prefix", "us-east-1", true); err == nil {
		t.Error("a prefix with spaces was accepted")
	}
}
