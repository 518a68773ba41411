package exec

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
)

// endpoints remembers what the SDK's resolver of endpoints returned. The SDK asks it before each request, and evaluates
// its rules each time. They depend on nothing but the parameters, and an endpoint that was returned is only read.
type endpoints struct {
	known atomic.Pointer[[]endpoint]
}

// endpoint is what the resolver returned for parameters.
type endpoint struct {
	params dynamodb.EndpointParameters // in memory of its own
	is     smithyendpoints.Endpoint
}

// mostEndpoints is how many endpoints are remembered: usually one for each table and account.
const mostEndpoints = 16

var (
	sdkResolver     = dynamodb.NewDefaultEndpointResolverV2()
	sdkResolverType = reflect.TypeOf(sdkResolver)
)

// rememberable is false if a newer SDK has parameters that sameParams does not compare.
var rememberable = reflect.TypeFor[dynamodb.EndpointParameters]().NumField() == 9

// options is an option of each call. It leaves a resolver that is not the SDK's own alone.
func (e *endpoints) options(o *dynamodb.Options) {
	if rememberable && reflect.TypeOf(o.EndpointResolverV2) == sdkResolverType {
		o.EndpointResolverV2 = e
	}
}

// all returns what is remembered.
func (e *endpoints) all() []endpoint {
	if known := e.known.Load(); known != nil {
		return *known
	}
	return nil
}

// ResolveEndpoint implements dynamodb.EndpointResolverV2.
func (e *endpoints) ResolveEndpoint(ctx context.Context, params dynamodb.EndpointParameters) (smithyendpoints.Endpoint, error) {
	known := e.all()
	for i := range known {
		if sameParams(&known[i].params, &params) {
			return known[i].is, nil
		}
	}
	is, err := sdkResolver.ResolveEndpoint(ctx, params)
	if err != nil {
		return is, err
	}
	if len(known) == mostEndpoints {
		known = nil
	}
	all := append(known[:len(known):len(known)], endpoint{ownParams(params), is})
	e.known.Store(&all) // of two at the same time, one is remembered
	return is, nil
}

func sameParams(a, b *dynamodb.EndpointParameters) bool {
	return same(a.ResourceArn, b.ResourceArn) && same(a.Region, b.Region) && same(a.Endpoint, b.Endpoint) && same(a.AccountId, b.AccountId) &&
		same(a.AccountIdEndpointMode, b.AccountIdEndpointMode) && same(a.UseDualStack, b.UseDualStack) && same(a.UseFIPS, b.UseFIPS) &&
		same(a.IsSearchOperation, b.IsSearchOperation) && slices.Equal(a.ResourceArnList, b.ResourceArnList) &&
		(a.ResourceArnList == nil) == (b.ResourceArnList == nil)
}

func same[V comparable](a, b *V) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// ownParams returns a copy of p without pointers to memory of the caller.
func ownParams(p dynamodb.EndpointParameters) dynamodb.EndpointParameters {
	return dynamodb.EndpointParameters{
		Region: own(p.Region), Endpoint: own(p.Endpoint), AccountId: own(p.AccountId), AccountIdEndpointMode: own(p.AccountIdEndpointMode),
		ResourceArn: own(p.ResourceArn), UseDualStack: own(p.UseDualStack), UseFIPS: own(p.UseFIPS), IsSearchOperation: own(p.IsSearchOperation),
		ResourceArnList: slices.Clone(p.ResourceArnList),
	}
}

func own[V any](p *V) *V {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
