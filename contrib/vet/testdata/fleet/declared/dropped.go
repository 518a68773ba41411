package declared

import (
	"net/netip"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
)

// Values that would lose a field, which reflection cannot build.
type dropping struct {
	_  entity.Key         `name:"Wrong" pk:"$#{id}"`
	ID string             `dynamodbav:"id"`
	A  []namedInside      // want `EDD-9275: field A\[\].\w*base.* of declared.namedInside: an embedded unexported type is stored neither`
	B  map[string]twice   // want `EDD-9007: field B{}.Second.X of declared.twice: the attribute "x" already belongs to field First.X`
	C  stamped            // want `EDD-9275: field C.Time of declared.stamped: an embedded time`
	D  addressed          // want `EDD-9275: field D.Addr of declared.addressed: a type that stores itself`
	E  Loop               // want `EDD-9052: field E.Loop.+: the struct embeds itself`
	F  *borrowing         // want `EDD-9275: field F of declared.borrowing: the method that encodes the struct`
	G  ambiguous          // want `EDD-9275: field G.Price.\w+ of declared.ambiguous: a type that stores itself`
	H  struct{ *base }    // want `EDD-9052: field H.+: an embedded pointer to an unexported struct`
	I  struct{ M, m int } // the usual way to keep a field to oneself
	J  pricing
	K  *struct {
		Price `dynamodbav:"price"`
	}
	L       [1]First
	Inside  *dropped
	number2 `dynamodbav:"n"` // want `EDD-9275: an embedded unexported type`
	clock                    // want `EDD-9275: an embedded unexported type`
}

type (
	namedInside struct {
		base `dynamodbav:"base"`
	}
	First struct {
		X string `dynamodbav:"x"`
	}
	Second struct {
		X string `dynamodbav:"x"`
	}
	twice struct {
		First
		Second
	}
	stamped struct {
		time.Time
		Zone string
	}
	addressed struct {
		netip.Addr
		Port int
	}
	Loop struct {
		*Loop
		N int
	}
	Price     struct{ Cents int }
	Cost      struct{ Cents int }
	borrowing struct {
		Price
		Note string
	}
	ambiguous struct {
		Price
		Cost
	}
	pricing struct {
		Price
		Note string
	}
	number2 struct{ N int }
	clock   time.Time
	dropped struct {
		dropping2
		At time.Time
	}
	dropping2 struct{ Deep []*dropped }
)

func (Price) MarshalDynamoDBAttributeValue() (types.AttributeValue, error)   { return nil, nil }
func (*Cost) MarshalDynamoDBAttributeValue() (types.AttributeValue, error)   { return nil, nil }
func (pricing) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) { return nil, nil }
