package exec

import (
	"testing"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/assert"
)

type loggedSigner struct{ dynamodb.HTTPSignerV4 }

// Only requests of a client that nothing was added to are signed here.
func TestReading_SignsForBareClients(t *testing.T) {
	t.Parallel()
	client := func(f func(*dynamodb.Options)) *dynamodb.Client {
		return dynamodb.New(dynamodb.Options{Region: "eu-west-1"}, f)
	}
	plain := client(func(*dynamodb.Options) {})
	other := client(func(*dynamodb.Options) {})
	signing := client(func(o *dynamodb.Options) { o.HTTPSignerV4 = loggedSigner{v4.NewSigner()} })
	watched := client(func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(*middleware.Stack) error { return nil })
	})
	for name, c := range map[string]struct {
		runner *Runner
		client *dynamodb.Client // of the request
		ours   bool
	}{
		"the SDK's client": {&Runner{Client: plain}, plain, true},
		"another client":   {&Runner{Client: plain, ReadClient: other}, other, false},
		"a wrapper":        {&Runner{Client: struct{ Client }{plain}}, plain, false},
		"the SDK's codec":  {&Runner{Client: plain, SDKCodec: true}, plain, false},
		"a signer":         {&Runner{Client: signing}, signing, false},
		"a middleware":     {&Runner{Client: watched}, watched, false},
	} {
		own, o := c.client.Options(), c.client.Options()
		c.runner.reading(c.client).options(&o)
		assert.Equal(t, c.ours, o.AuthSchemes[0] != own.AuthSchemes[0], name)
		o = c.client.Options()
		if c.runner.Client == Client(c.client) {
			c.runner.attempt().options(&o)
			assert.Equal(t, c.ours, o.AuthSchemes[0] != own.AuthSchemes[0], name)
		}
	}
}
