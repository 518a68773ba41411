package sigv4

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"
)

func TestSchemes_SignWithTheSignerOfTheClientsOwn(t *testing.T) {
	t.Parallel()
	o := dynamodb.New(dynamodb.Options{Region: "eu-central-1"}).Options()
	schemes := Schemes(&o)
	require.Len(t, schemes, 1, "a newer SDK has other schemes, or another signer: see Schemes")
	require.Equal(t, "aws.auth#sigv4", schemes[0].SchemeID())
	require.Same(t, o.HTTPSignerV4, ownOf(t, schemes).other)

	o = dynamodb.New(dynamodb.Options{HTTPSignerV4: v4.NewSigner(), Logger: logging.Nop{}, ClientLogMode: aws.LogRetries}).Options()
	require.Same(t, o.HTTPSignerV4, ownOf(t, Schemes(&o)).other)
}

// ownOf returns the Signer of schemes.
func ownOf(t *testing.T, schemes []smithyhttp.AuthScheme) *Signer {
	t.Helper()
	require.Len(t, schemes, 1)
	own, ok := signerOf(schemes[0]).(*Signer)
	require.True(t, ok)
	return own
}

type ownSigner struct{ dynamodb.HTTPSignerV4 }

type ownScheme struct{ smithyhttp.AuthScheme }

// A client with a signer, schemes or logging of its own keeps them.
func TestSchemes_LeaveOtherClientsAlone(t *testing.T) {
	t.Parallel()
	standard := dynamodb.New(dynamodb.Options{}).Options()
	option := func(f func(*v4.SignerOptions)) dynamodb.Options {
		return dynamodb.Options{HTTPSignerV4: v4.NewSigner(f)}
	}
	for name, o := range map[string]dynamodb.Options{
		"signer":           {HTTPSignerV4: ownSigner{v4.NewSigner()}},
		"scheme":           {AuthSchemes: []smithyhttp.AuthScheme{ownScheme{standard.AuthSchemes[0]}}},
		"anonymous":        {AuthSchemes: []smithyhttp.AuthScheme{smithyhttp.NewAnonymousScheme()}},
		"two schemes":      {AuthSchemes: []smithyhttp.AuthScheme{standard.AuthSchemes[0], smithyhttp.NewAnonymousScheme()}},
		"no scheme":        {AuthSchemes: []smithyhttp.AuthScheme{}},
		"another client's": {AuthSchemes: standard.AuthSchemes},
		"logging":          {ClientLogMode: aws.LogSigning},
		"logging, signer":  {ClientLogMode: aws.LogSigning, HTTPSignerV4: v4.NewSigner()},
		"signer that logs": option(func(o *v4.SignerOptions) { o.LogSigning = true }),
		"no session token": option(func(o *v4.SignerOptions) { o.DisableSessionToken = true }),
		"no escaping":      option(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }),
		"no hoisting":      option(func(o *v4.SignerOptions) { o.DisableHeaderHoisting = true }),
	} {
		options := dynamodb.New(o).Options()
		require.Nil(t, Schemes(&options), name)
	}
	require.Nil(t, Schemes(&dynamodb.Options{}))
	require.Nil(t, Schemes(&dynamodb.Options{HTTPSignerV4: (*v4.Signer)(nil)}))
}
