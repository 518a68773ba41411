package bind

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

func bytesOf[A [10]byte | [16]byte](t *testing.T, text string) (a A) {
	t.Helper()
	b, err := hex.DecodeString(text)
	require.NoError(t, err)
	return A(b)
}

// The example of RFC 9562, appendix A.6.
func TestUUIDv7_IsThatOfTheRFC(t *testing.T) {
	t.Parallel()
	require.Equal(t, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", uuidText(uuidV7(0x017F22E279B0, bytesOf[[10]byte](t, "0cc318c4dc0c0c07398f"))))
	require.Equal(t, "017f22e2-79b0-7fff-bfff-ffffffffffff", uuidText(uuidV7(0x017F22E279B0, bytesOf[[10]byte](t, "ffffffffffffffffffff"))),
		"version and variant replace random bits")
}

// The examples of the specification, and the ends of its range.
func TestULID_IsThatOfTheSpecification(t *testing.T) {
	t.Parallel()
	require.Equal(t, "01ARZ3NDEKTSV4RRFFQ69G5FAV", ulidText(bytesOf[[16]byte](t, "01563e3ab5d3d6764c61efb99302bd5b")))
	require.Equal(t, "01ARYZ6S41", ulidText(idBytes(1469918176385, randomBytes{}))[:10])
	require.Equal(t, "00000000000000000000000000", ulidText([16]byte{}))
	require.Equal(t, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", ulidText(idBytes(1<<48-1, bytesOf[[10]byte](t, "ffffffffffffffffffff"))))
}
