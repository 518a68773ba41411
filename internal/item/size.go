package item

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// MaxBytes is the size above which an item is refused before it is sent: DynamoDB's 400 KB less 1 KB headroom for
// what its own accounting adds.
const MaxBytes = 400*1024 - 1024

// Size returns the bytes that DynamoDB counts for it: names and values, with its overhead for numbers, lists and maps.
func Size(it Item) int {
	total := 0
	for name, av := range it {
		total += len(name) + ValueSize(av)
	}
	return total
}

// ValueSize returns the bytes that DynamoDB counts for one value; nil counts as a byte.
func ValueSize(av types.AttributeValue) int {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberSS:
		total := 0
		for _, s := range v.Value {
			total += len(s)
		}
		return total
	case *types.AttributeValueMemberNS:
		total := 0
		for _, n := range v.Value {
			total += numberSize(n)
		}
		return total
	case *types.AttributeValueMemberBS:
		total := 0
		for _, b := range v.Value {
			total += len(b)
		}
		return total
	case *types.AttributeValueMemberL:
		total := 3
		for _, e := range v.Value {
			total += 1 + ValueSize(e)
		}
		return total
	case *types.AttributeValueMemberM:
		total := 3
		for name, e := range v.Value {
			total += 1 + len(name) + ValueSize(e)
		}
		return total
	}
	return 1
}

// numberSize is one byte for each two significant digits, one for the exponent and one for a sign: never below what
// DynamoDB counts.
func numberSize(text string) int {
	digits := 0
	for i := range len(text) {
		if text[i] >= '0' && text[i] <= '9' {
			digits++
		}
	}
	return min(digits/2+3, 21)
}
