package engine

import (
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
	"github.com/stretchr/testify/assert"
)

// A newer SDK with another list of interceptors fails here, until it is counted.
func TestOwns_EveryListOfInterceptorsCounts(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[smithyhttp.InterceptorRegistry]().NumField() {
		var r smithyhttp.InterceptorRegistry
		list := reflect.ValueOf(&r).Elem().Field(i)
		list.Set(reflect.MakeSlice(list.Type(), 1, 1))
		assert.Equal(t, 1, interceptors(&r), "%s", reflect.TypeOf(r).Field(i).Name)
	}
}

// wrapper is a client of another type.
type wrapper struct{ *dynamodb.Client }

func TestOwns_KindsOfClients(t *testing.T) {
	t.Parallel()
	client := func(opts ...func(*dynamodb.Options)) *dynamodb.Client {
		return dynamodb.New(dynamodb.Options{}, opts...)
	}
	agent := func(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, middleware.AddUserAgentKey("x")) }
	intercepted := func(o *dynamodb.Options) {
		o.Interceptors.BeforeSigning = make([]smithyhttp.BeforeSigningInterceptor, 1)
	}
	other := func(o *dynamodb.Options) { o.Protocol = awsjson.New11(schemas.DynamoDB_20120810) }
	for name, c := range map[string]struct {
		client         Client
		plain, ignores bool
	}{
		"the SDK's":         {client(), true, true},
		"with middleware":   {client(agent), false, true},
		"with interceptors": {client(intercepted), false, true},
		"another protocol":  {client(other), false, false},
		"a wrapper":         {wrapper{client()}, false, false},
		"a nil pointer":     {(*dynamodb.Client)(nil), false, false},
		"none":              {nil, false, false},
	} {
		assert.Equal(t, c.plain, Owns(c.client, false), name)
		assert.Equal(t, c.ignores, Owns(c.client, true), name)
	}
}
