package schema_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestDeclaration_AllMistakesAreReportedTogether(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_ entity.Key `name:"Wrong" pk:"$#{id}" sk:"$#{missing}" colour:"red"`
		_ entity.GSI `name:"byA" index:"gsi1" pk:"$#{list}"`
		_ entity.GSI `name:"byA" index:"gsi2" pk:"$#{id}" project:"list,missing"`
		_ entity.GSI `name:"byC" index:"gsi3" pk:"$#{id}" sk:"gsi2pk={id}"`
		_ entity.GSI `name:"byD" index:"gsi3" pk:"$#{id"`

		ID      string    `dynamodbav:"id"`
		List    []string  `dynamodbav:"list"`
		Hidden  string    `dynamodbav:"_pv"`
		Expiry  int64     `dynamodbav:"_ttl"`
		Stamp   string    `dynamodbav:"stamp" entity:"created_at"`
		Options time.Time `dynamodbav:"options,omitzero"`
		Role    string    `dynamodbav:"role" entity:"requird"`
		Chan    chan int  `dynamodbav:"chan"`
		Deleted time.Time `dynamodbav:"deleted" entity:"deleted_at"`
		Version int64     `dynamodbav:"version" entity:"version"`
		Again   int64     `dynamodbav:"again" entity:"version"`
		Same    string    `dynamodbav:"id"`
	}
	_, err := entity.New[wrong](open(t))
	checkMistakes[wrong](t, err,
		mistake{"EDD-9002", theKey},
		mistake{"EDD-9003", theKey},
		mistake{"EDD-9037", theGSI},
		mistake{"EDD-9002", theGSI},
		mistake{"EDD-9032", ""},
		mistake{"EDD-9003", theGSI},
		mistake{"EDD-9031", theGSI},
		mistake{"EDD-9034", "Hidden"},
		mistake{"EDD-9034", "Expiry"},
		mistake{"EDD-9035", "Stamp"},
		mistake{"EDD-9045", "Options"},
		mistake{"EDD-9003", "Role"},
		mistake{"EDD-9052", "Chan"},
		mistake{"EDD-9044", "Deleted"},
		mistake{"EDD-9046", "Again"},
		mistake{"EDD-9007", "Same"},
	)
}

func TestDeclaration_BrokenKeyHidesNoOtherMistake(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_       entity.Key `name:"Wrong" pk:"$#{missing}"`
		ID      string     `dynamodbav:"id"`
		Hidden  string     `dynamodbav:"_w"`
		Deleted time.Time  `dynamodbav:"deleted" entity:"deleted_at"`
	}
	type keyless struct {
		ID      string    `dynamodbav:"id"`
		Hidden  string    `dynamodbav:"_w"`
		Deleted time.Time `dynamodbav:"deleted" entity:"deleted_at"`
	}
	checkMistakes[wrong](t, alone[wrong](),
		mistake{"EDD-9002", theKey}, mistake{"EDD-9034", "Hidden"}, mistake{"EDD-9044", "Deleted"})
	checkMistakes[keyless](t, alone[keyless](),
		mistake{"EDD-9030", ""}, mistake{"EDD-9034", "Hidden"}, mistake{"EDD-9044", "Deleted"})
}

func TestDeclaration_UnknownTagKeyIsRefused(t *testing.T) {
	t.Parallel()
	type onKey struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" ks:"$"`
		ID string     `dynamodbav:"id"`
	}
	type ofAnother struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" index:"gsi1"`
		ID string     `dynamodbav:"id"`
	}
	type onGSI struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.GSI `name:"byID" index:"gsi1" pk:"$#{id}" projection:"all"`
		ID string     `dynamodbav:"id"`
	}
	type onLSI struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.LSI `name:"byID" index:"lsi1" sk:"id" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	type everything struct {
		_  entity.Key `name:"Right" table:"app" pk:"id" sk:"at" kind:"type=x" payload:"3"`
		_  entity.GSI `name:"byA" index:"gsi1" pk:"$#{id}" sk:"$#{at}" project:"keys"`
		_  entity.LSI `name:"byB" index:"lsi1" sk:"n"`
		ID string     `dynamodbav:"id"`
		At string     `dynamodbav:"at"`
		N  int        `dynamodbav:"n"`
	}
	refused[onKey](t, "EDD-9003", theKey)
	refused[ofAnother](t, "EDD-9003", theKey)
	refused[onGSI](t, "EDD-9003", theGSI)
	refused[onLSI](t, "EDD-9003", theLSI)
	accepted[everything](t)
}

// A misspelt word is answered with the word that was meant. What is checked is that the word is there, not how the
// sentence puts it.
func TestDeclaration_TypoIsAnsweredWithTheNearestWord(t *testing.T) {
	t.Parallel()
	type attribute struct {
		_        entity.Key `name:"Wrong" pk:"$#{chanell}"`
		Frequenz string     `dynamodbav:"channel"`
	}
	type tagKey struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" paylod:"2"`
		ID string     `dynamodbav:"id"`
	}
	type role struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id" entity:"imutable"`
	}
	type option struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a,omitempt"`
	}
	for want, err := range map[string]error{
		"channel": alone[attribute](), "payload": alone[tagKey](), "immutable": alone[role](), "omitempty": alone[option](),
	} {
		found := mistakes(err)
		require.Len(t, found, 1)
		require.Contains(t, found[0].Problem, want)
	}
}

func TestDeclaration_ForeignBlankFieldsPass(t *testing.T) {
	t.Parallel()
	type noCopy struct{}
	type right struct {
		_  struct{}
		_  noCopy
		_  [0]func()  `json:"-"`
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	accepted[right](t)
}

func TestDeclaration_IsABlankFieldHeldByValue(t *testing.T) {
	t.Parallel()
	type named struct {
		_   entity.Key `name:"Wrong" pk:"$#{id}"`
		GSI entity.GSI `name:"byID" index:"gsi1" pk:"$#{id}"`
		ID  string     `dynamodbav:"id"`
	}
	type embedded struct {
		entity.Key `name:"Wrong" pk:"$#{id}"`
		ID         string `dynamodbav:"id"`
	}
	type pointer struct {
		_  entity.Key  `name:"Wrong" pk:"$#{id}"`
		_  *entity.GSI `name:"byID" index:"gsi1" pk:"$#{id}"`
		ID string      `dynamodbav:"id"`
	}
	type iface struct {
		_  entity.Key         `name:"Wrong" pk:"$#{id}"`
		_  schema.Declaration `name:"byID"`
		ID string             `dynamodbav:"id"`
	}
	refused[named](t, "EDD-9003", "GSI")
	checkMistakes[embedded](t, alone[embedded](), mistake{"EDD-9003", "Key"}, mistake{"EDD-9030", ""})
	refused[pointer](t, "EDD-9003", "_")
	refused[iface](t, "EDD-9003", "_")
}

func TestDeclaration_RolesAreOnStoredFields(t *testing.T) {
	t.Parallel()
	type unexported struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		a  string     `entity:"required"`
	}
	_ = unexported{}.a
	type blank struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  string     `entity:"required"`
		ID string     `dynamodbav:"id"`
	}
	type skipped struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"-" entity:"required"`
	}
	type Base struct {
		A string `dynamodbav:"a"`
	}
	type embedded struct {
		_    entity.Key `name:"Wrong" pk:"$#{id}"`
		Base `entity:"immutable"`
		ID   string `dynamodbav:"id"`
	}
	type right struct {
		_    entity.Key                             `name:"Right" pk:"$#{id}"`
		Base `dynamodbav:"base" entity:"immutable"` // named, it is one attribute
		ID   string                                 `dynamodbav:"id"`
		b    string                                 `other:"b"`
	}
	_ = right{}.b
	refused[unexported](t, "EDD-9003", "a")
	refused[blank](t, "EDD-9003", "_")
	refused[skipped](t, "EDD-9003", "A")
	refused[embedded](t, "EDD-9003", "Base")
	accepted[right](t)
}

// built compiles a struct type made of fields, for tags that vet would not let stand in source.
func built(fields ...reflect.StructField) error {
	for i := range fields {
		if fields[i].Name == "_" {
			fields[i].PkgPath = "test"
		}
	}
	_, err := schema.Build(reflect.StructOf(fields), options)
	return err
}

func field(name string, typ reflect.Type, tag string) reflect.StructField {
	return reflect.StructField{Name: name, Type: typ, Tag: reflect.StructTag(tag)}
}

// reflect.StructTag takes the first of two equal keys and stops in silence at the first malformed pair, so that a
// declaration would lose what follows.
func TestDeclaration_TagIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	keyType, text := reflect.TypeFor[entity.Key](), reflect.TypeFor[string]()
	goodKey, goodID := field("_", keyType, `name:"T" pk:"$#{id}"`), field("ID", text, `dynamodbav:"id"`)
	require.NoError(t, built(goodKey, goodID))
	for _, tag := range []string{
		`name:"T" pk:"$#{id}" pk:"$#{id}#more"`,
		`name:"T" pk:"$#{id}" sk:$`,
		`name:"T" pk:"$#{id}" sk`,
		`name:"T" pk:"$#{id}"sk:"$"`,
		`name:"T" pk:"$#{id}" sk:"$`,
		`name:"T" pk:"$#{id}" sk: "$"`,
		`name:"T",pk:"$#{id}"`,
	} {
		checkOne(t, "_ entity.Key", built(field("_", keyType, tag), goodID), tag)
	}
	checkOne(t, "_ schema_test.quota", built(goodKey, goodID, field("_", reflect.TypeFor[quota](), `attr:"id"window:"1h"`)), "a feature's")
	checkOne(t, theEvents, built(goodKey, goodID, field("_", reflect.TypeFor[timeseries.Events](), `orderBy:"id"ttl:"1d"`),
		field("A", text, `entity:"append"`)), "append is not blamed when Events cannot be read")
	for _, tag := range []string{
		`dynamodbav:"a" entity:"required" entity:"immutable"`,
		`dynamodbav:"a" dynamodbav:"b"`,
		`dynamodbav:"a"entity:"required"`,
		`dynamodbav:"a" entity:required`,
		`dynamodbav:"a" entity`,
		`json:"a" broken entity:"required"`,
	} {
		checkOne(t, "A", built(goodKey, goodID, field("A", text, tag)), tag)
	}
}

// checkOne checks that err is one mistake, in the grammar of field's tag: what a broken tag does not say is no mistake
// of its own.
func checkOne(t *testing.T, field string, err error, tag string) {
	t.Helper()
	var got []mistake
	for _, m := range mistakes(err) {
		got = append(got, mistake{m.Code, m.Field})
	}
	assert.Equal(t, []mistake{{"EDD-9003", field}}, got, "%s: %v", tag, err)
}
