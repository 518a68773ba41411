package opt

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// Image is what a caller's handle holds: an item exactly as it was read, and its table; nil before it was filled.
type Image interface {
	Image() (it map[string]types.AttributeValue, table string)
}
