package vet

import (
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// Whatever type a program has, it is converted: reflect panics for what it cannot build.
func TestConvert_EveryType(t *testing.T) {
	t.Parallel()
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadTypes},
		"net/http", "go/types", "runtime", "syscall", "encoding/xml", "math/big", "sync/atomic", "time", "testing", "crypto/x509", "os/exec",
		library+"/entity", library+"/internal/schema", "github.com/aws/aws-sdk-go-v2/service/dynamodb/types", "golang.org/x/tools/go/packages")
	require.NoError(t, err)
	n := 0
	for _, p := range pkgs {
		require.Empty(t, p.Errors)
		for _, name := range p.Types.Scope().Names() {
			obj, ok := p.Types.Scope().Lookup(name).(*types.TypeName)
			if !ok {
				continue
			}
			n++
			d := newDeclaration(obj.Type())
			if generic(obj.Type()) || d.conv.unsure != "" {
				continue
			}
			require.NotEmpty(t, d.mistakes(anyStore()...), "%s declares no key", obj)
			require.Nil(t, d.compiled())
		}
	}
	require.Greater(t, n, 500)
}
