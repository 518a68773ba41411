package exec

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/testsize"
)

// oneOf returns a pointer to one of vs, or nil.
func oneOf[V any](r *rand.Rand, vs ...V) *V {
	if i := r.IntN(len(vs) + 1); i < len(vs) {
		return &vs[i]
	}
	return nil
}

func TestEndpoints_AreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	require.True(t, rememberable, "a newer SDK has other parameters: compare them in sameParams")
	r := rand.New(rand.NewPCG(testsize.Seed(t), 1))
	var e endpoints
	failed, arns := 0, []string{"orders", "events", "arn:aws:dynamodb:eu-west-1:123456789012:table/orders", "arn:aws:dynamodb:us-east-1:210987654321:table/orders"}
	for range testsize.Pick(500, 50_000) {
		yes, no := true, false
		p := dynamodb.EndpointParameters{
			Region: oneOf(r, "eu-west-1", "us-east-1", "us-gov-west-1", "cn-north-1", "local"), UseDualStack: oneOf(r, yes, no), UseFIPS: oneOf(r, yes, no),
			IsSearchOperation: oneOf(r, yes, no), AccountId: oneOf(r, "123456789012", "210987654321"), AccountIdEndpointMode: oneOf(r, "preferred", "required", "disabled"),
			ResourceArn: oneOf(r, arns...),
		}
		if r.IntN(4) == 0 {
			p.Endpoint = oneOf(r, "http://localhost:8000", "https://example.com/path")
		}
		for range r.IntN(3) {
			p.ResourceArnList = append(p.ResourceArnList, arns[r.IntN(len(arns))])
		}
		want, wrong := sdkResolver.ResolveEndpoint(t.Context(), p)
		for range 2 {
			got, err := e.ResolveEndpoint(t.Context(), p)
			require.Equal(t, wrong, err)
			require.Equal(t, want, got)
		}
		if wrong != nil {
			failed++
		}
		require.LessOrEqual(t, len(e.all()), mostEndpoints)
	}
	require.NotZero(t, failed)
}

type ownResolver struct{ dynamodb.EndpointResolverV2 }

func (ownResolver) ResolveEndpoint(context.Context, dynamodb.EndpointParameters) (smithyendpoints.Endpoint, error) {
	return smithyendpoints.Endpoint{}, nil
}

func TestEndpoints_LeaveOtherResolversAlone(t *testing.T) {
	t.Parallel()
	var e endpoints
	for _, other := range []dynamodb.EndpointResolverV2{nil, ownResolver{}} {
		o := dynamodb.Options{EndpointResolverV2: other}
		e.options(&o)
		require.Equal(t, other, o.EndpointResolverV2)
	}
	o := dynamodb.Options{EndpointResolverV2: dynamodb.NewDefaultEndpointResolverV2()}
	e.options(&o)
	require.Same(t, &e, o.EndpointResolverV2)
}

func TestEndpoints_KeepNoMemoryOfTheCaller(t *testing.T) {
	t.Parallel()
	var e endpoints
	region, no := "eu-west-1", false
	p := dynamodb.EndpointParameters{Region: &region, UseDualStack: &no, UseFIPS: &no}
	first, err := e.ResolveEndpoint(t.Context(), p)
	require.NoError(t, err)
	region = "us-east-1"
	second, err := e.ResolveEndpoint(t.Context(), p)
	require.NoError(t, err)
	require.NotEqual(t, first.URI.Host, second.URI.Host)
}
