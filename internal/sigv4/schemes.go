package sigv4

import (
	"reflect"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Schemes returns the authentication schemes of a client with these options, with a Signer in place of the SDK's own signer. They
// are what the SDK makes of the Signer, so that the credentials, the Region, and the time, which the SDK corrects by the clock of
// DynamoDB, are the SDK's. Schemes returns nil if the client has other schemes or another signer, logs what is signed, or is of an
// SDK that this package does not know.
func Schemes(o *dynamodb.Options) []smithyhttp.AuthScheme {
	sdk, ok := o.HTTPSignerV4.(*v4.Signer)
	if !ok || sdk == nil || !withoutOptions(sdk) || o.ClientLogMode.IsSigning() || !only(o.AuthSchemes, sdk) {
		return nil
	}
	own := New(sdk)
	schemes := schemesWith(own)
	if !only(schemes, own) {
		return nil
	}
	return schemes
}

// schemesWith returns the schemes of a client of the SDK with this signer.
func schemesWith(signer dynamodb.HTTPSignerV4) []smithyhttp.AuthScheme {
	return dynamodb.New(dynamodb.Options{HTTPSignerV4: signer}).Options().AuthSchemes
}

// withoutOptions reports whether an SDK's signer signs in the usual way, without logging. A logger alone is not used.
func withoutOptions(signer *v4.Signer) bool {
	options := reflect.ValueOf(signer).Elem().FieldByName("options")
	if !options.IsValid() || options.Type() != reflect.TypeFor[v4.SignerOptions]() || options.NumField() != 5 {
		return false
	}
	for i := range options.NumField() {
		if f := options.Field(i); f.Kind() == reflect.Bool && f.Bool() {
			return false
		}
	}
	return true
}

// The types of the SDK's scheme and of its signer, which have no public names.
var (
	schemeType = reflect.TypeOf(schemesWith(nil)[0])
	signerType = reflect.TypeOf(schemesWith(nil)[0].Signer())
)

// only reports whether the only scheme is the SDK's own with this signer.
func only(schemes []smithyhttp.AuthScheme, signer dynamodb.HTTPSignerV4) bool {
	return len(schemes) == 1 && reflect.TypeOf(schemes[0]) == schemeType && schemes[0].SchemeID() == sigV4 && signerOf(schemes[0]) == any(signer)
}

const sigV4 = "aws.auth#sigv4"

// signerOf returns the signer that the SDK's scheme uses, or nil.
func signerOf(scheme smithyhttp.AuthScheme) any {
	adapter := reflect.ValueOf(scheme.Signer())
	if !adapter.IsValid() || adapter.Type() != signerType || adapter.Kind() != reflect.Pointer || adapter.IsNil() {
		return nil
	}
	signer := adapter.Elem().FieldByName("Signer")
	if !signer.IsValid() || !signer.CanInterface() {
		return nil
	}
	return signer.Interface()
}
