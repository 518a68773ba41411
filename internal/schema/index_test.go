package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestDeclaration_IndexNamesAttributesOfTheStruct(t *testing.T) {
	t.Parallel()
	type partition struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.GSI `name:"byA" index:"gsi1" pk:"$#{b}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	type sort struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.GSI `name:"byA" index:"gsi1" pk:"a" sk:"b"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	type projected struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.GSI `name:"byA" index:"gsi1" pk:"$#{a}" project:"a,b"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	type local struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.LSI `name:"byA" index:"lsi1" sk:"b"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}" sk:"$"`
		_  entity.GSI `name:"byA" index:"gsi1" pk:"$#{a}" sk:"$#{b}" project:"a,b"`
		_  entity.GSI `name:"byB" index:"gsi2" pk:"b+a" sk:"id" project:"keys"`
		_  entity.LSI `name:"local" index:"lsi1" sk:"b"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
		B  string     `dynamodbav:"b"`
	}
	refused[partition](t, "EDD-9002", theGSI)
	refused[sort](t, "EDD-9002", theGSI)
	refused[projected](t, "EDD-9002", theGSI)
	refused[local](t, "EDD-9002", theLSI)
	accepted[right](t)
}

func TestDeclaration_IndexTagIsComplete(t *testing.T) {
	t.Parallel()
	type nameless struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.GSI `index:"gsi1" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	type placeless struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.GSI `name:"byID" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	type keyless struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.GSI `name:"byID" index:"gsi1" sk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	type misnamed struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.GSI `name:"by id" index:"gsi1" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	type localKeyless struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.LSI `name:"byID" index:"lsi1"`
		ID string     `dynamodbav:"id"`
	}
	refused[nameless](t, "EDD-9003", theGSI)
	refused[placeless](t, "EDD-9003", theGSI)
	refused[keyless](t, "EDD-9003", theGSI)
	refused[misnamed](t, "EDD-9003", theGSI)
	refused[localKeyless](t, "EDD-9003", theLSI)
}

func TestDeclaration_NativeIndexKeyHasAtMostFourAttributes(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.GSI `name:"all" index:"gsi1" pk:"a+b+c+d+id"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
		B  string     `dynamodbav:"b"`
		C  string     `dynamodbav:"c"`
		D  string     `dynamodbav:"d"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		_  entity.GSI `name:"all" index:"gsi1" pk:"a+b+c+d" sk:"id+d+c+b"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
		B  string     `dynamodbav:"b"`
		C  string     `dynamodbav:"c"`
		D  string     `dynamodbav:"d"`
	}
	refused[wrong](t, "EDD-9003", theGSI)
	accepted[right](t)
}

func TestDeclaration_LocalIndexNeedsASortKeyBesideItsOwn(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.LSI `name:"byA" index:"lsi1" sk:"a"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	type prefixed struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.LSI `name:"byA" index:"lsi1" sk:"$#{a}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}" sk:"$"`
		_  entity.LSI `name:"byA" index:"lsi1" sk:"lsi1sk=a_{a}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	refused[wrong](t, "EDD-9049", theLSI)
	refused[prefixed](t, "EDD-9003", theLSI)
	accepted[right](t)
}

func TestDeclaration_IndexNamesAreUnique(t *testing.T) {
	t.Parallel()
	type accessor struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.GSI `name:"byA" index:"gsi1" pk:"$#{a}"`
		_  entity.GSI `name:"byA" index:"gsi2" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	type physical struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.GSI `name:"byA" index:"gsi1" pk:"a"`
		_  entity.GSI `name:"byID" index:"gsi1" pk:"id"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		_  entity.GSI `name:"byA" index:"gsi1" pk:"$#{a}"`
		_  entity.GSI `name:"byID" index:"gsi2" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	refused[accessor](t, "EDD-9031", theGSI)
	refused[physical](t, "EDD-9031", theGSI)
	accepted[right](t)
}

func TestDeclaration_KeysDoNotShareAnAttribute(t *testing.T) {
	t.Parallel()
	type withTable struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.GSI `name:"byA" index:"gsi1" pk:"$#{a}" sk:"sk={a}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	type withIndex struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.GSI `name:"byA" index:"gsi1" pk:"$#{a}"`
		_  entity.GSI `name:"byID" index:"gsi2" pk:"gsi1pk={id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	type withKind struct {
		_  entity.Key `name:"Wrong" pk:"key={id}" kind:"key=device"`
		ID string     `dynamodbav:"id"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}" sk:"$"`
		_  entity.GSI `name:"byA" index:"gsi1" pk:"$#{a}" sk:"own={a}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	refused[withTable](t, "EDD-9032", "")
	refused[withIndex](t, "EDD-9032", "")
	refused[withKind](t, "EDD-9032", "")
	accepted[right](t)
}

func TestDeclaration_IndexIsFoundByItsDeclaredName(t *testing.T) {
	t.Parallel()
	type device struct {
		_  entity.Key `name:"Device" pk:"$#{id}"`
		_  entity.GSI `name:"byA" index:"gsi1" pk:"$#{a}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
	}
	store, err := entity.New[device](open(t))
	require.NoError(t, err)
	_, err = store.Index("byA")
	require.NoError(t, err)
	for _, name := range []string{"gsi1", "ByA", ""} {
		_, err = store.Index(name)
		checkMistakes[device](t, err, mistake{"EDD-9051", ""})
	}
}
