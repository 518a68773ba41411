package entity_test

import (
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
)

// Facts are what an item of every shape stores beside its key and its roles.
type Facts struct {
	Title  string    `dynamodbav:"title"`
	Note   string    `dynamodbav:"note,omitempty"`
	Count  int       `dynamodbav:"count,omitempty"`
	SeenAt time.Time `dynamodbav:"seenAt,omitempty" entity:"time=s"`
}

// The shapes of entities for which the verb table holds. ShapeRoles has every role of an ordinary entity; ShapeHalf an
// index half of which an update and an upsert know a part only; ShapeVerbatim and ShapeNative carry nothing hidden.
type (
	ShapeRoles struct {
		_  entity.Key `name:"ShapeRoles" pk:"$#{id}" sk:"$#{area}"`
		_  entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{title}"`
		ID string     `dynamodbav:"id"`
		Facts
		Area      int       `dynamodbav:"area"`
		Tenant    string    `dynamodbav:"tenant" entity:"immutable"`
		First     string    `dynamodbav:"first,omitempty" entity:"set_once"`
		Version   int64     `dynamodbav:"version" entity:"version"`
		CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
		UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
	}
	ShapePlain struct {
		_  entity.Key `name:"ShapePlain" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
		Facts
	}
	ShapePartition struct {
		_  entity.Key `name:"ShapePartition" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		Facts
	}
	ShapeHalf struct {
		_  entity.Key `name:"ShapeHalf" pk:"$#{id}" sk:"$"`
		_  entity.GSI `name:"byTitle" index:"gsi1" pk:"$#{title}#{note}" sk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		Facts
	}
	ShapeVerbatim struct {
		_    entity.Key `name:"ShapeVerbatim" pk:"owner=O#{id}" sk:"place={area:03}"`
		_    entity.GSI `name:"seen" index:"gsi1" pk:"gsi1pk=rows" sk:"gsi1sk={seenAt}"`
		ID   string     `dynamodbav:"id"`
		Area int        `dynamodbav:"area"`
		Facts
	}
	ShapeNative struct {
		_    entity.Key `name:"ShapeNative" pk:"id" sk:"area"`
		ID   string     `dynamodbav:"id"`
		Area int        `dynamodbav:"area"`
		Facts
	}
)

// shape is what the tests of the verb table must know of T.
type shape[T any] struct {
	layout
	key, other T                              // two keys
	facts      func(*T) *Facts                // of a value, and of the prototype
	given      func(v *T, first string)       // fills in the fields with roles, with wrong values where the library owns them
	owned      func(*T) []entity.UpdateOption // changes of what the library owns
}

// layout is how a shape lies on disk.
type layout struct {
	at      map[string]types.AttributeValue // of key
	otherAt map[string]types.AttributeValue
	fixed   raw             // attributes that no write changes
	halves  func(Facts) raw // index keys
	hidden  bool            // it carries a write id
	roles   bool            // it has version, created_at, updated_at, set_once
	reads   bool            // Update and Upsert must read first
}

// stages open every shape.
func stages() map[string]func(*testing.T) *stage {
	none := func(Facts) raw { return nil }
	plain := shape[ShapePlain]{
		key: ShapePlain{ID: "a"}, other: ShapePlain{ID: "b"}, facts: func(v *ShapePlain) *Facts { return &v.Facts },
		layout: layout{
			at: keys("pk", "$app#v1#shapeplain#a", "sk", "$app#v1#shapeplain"), otherAt: keys("pk", "$app#v1#shapeplain#b", "sk", "$app#v1#shapeplain"),
			hidden: true, halves: none,
			fixed: raw{"pk": `S"$app#v1#shapeplain#a"`, "sk": `S"$app#v1#shapeplain"`, "__edd_e__": `S"ShapePlain"`, "id": `S"a"`},
		},
	}
	partition := shape[ShapePartition]{
		key: ShapePartition{ID: "a"}, other: ShapePartition{ID: "b"}, facts: func(v *ShapePartition) *Facts { return &v.Facts },
		layout: layout{
			at: keys("pk", "$app#v1#shapepartition#a"), otherAt: keys("pk", "$app#v1#shapepartition#b"), hidden: true, halves: none,
			fixed: raw{"pk": `S"$app#v1#shapepartition#a"`, "__edd_e__": `S"ShapePartition"`, "id": `S"a"`},
		},
	}
	half := shape[ShapeHalf]{
		key: ShapeHalf{ID: "a"}, other: ShapeHalf{ID: "b"}, facts: func(v *ShapeHalf) *Facts { return &v.Facts },
		layout: layout{
			at: keys("pk", "$app#v1#shapehalf#a", "sk", "$app#v1#shapehalf"), otherAt: keys("pk", "$app#v1#shapehalf#b", "sk", "$app#v1#shapehalf"),
			hidden: true, reads: true,
			fixed: raw{
				"pk": `S"$app#v1#shapehalf#a"`, "sk": `S"$app#v1#shapehalf"`, "__edd_e__": `S"ShapeHalf"`, "id": `S"a"`,
				"gsi1sk": `S"$app#v1#shapehalf#a"`,
			},
			halves: func(f Facts) raw {
				if f.Note == "" {
					return nil
				}
				return raw{"gsi1pk": `S"$app#v1#shapehalf#` + f.Title + "#" + f.Note + `"`}
			},
		},
	}
	verbatim := shape[ShapeVerbatim]{
		key: ShapeVerbatim{ID: "a", Area: 7}, other: ShapeVerbatim{ID: "b", Area: 7}, facts: func(v *ShapeVerbatim) *Facts { return &v.Facts },
		layout: layout{
			at: keys("owner", "O#a", "place", "007"), otherAt: keys("owner", "O#b", "place", "007"),
			fixed: raw{"owner": `S"O#a"`, "place": `S"007"`, "id": `S"a"`, "area": "N7", "gsi1pk": `S"rows"`},
			halves: func(f Facts) raw {
				if f.SeenAt.IsZero() {
					return nil
				}
				return raw{"gsi1sk": `S"` + f.SeenAt.Format("2006-01-02T15:04:05Z") + `"`}
			},
		},
	}
	native := shape[ShapeNative]{
		key: ShapeNative{ID: "a", Area: 7}, other: ShapeNative{ID: "b", Area: 7}, facts: func(v *ShapeNative) *Facts { return &v.Facts },
		layout: layout{
			at: map[string]types.AttributeValue{"id": str("a"), "area": num("7")}, otherAt: map[string]types.AttributeValue{"id": str("b"), "area": num("7")},
			fixed: raw{"id": `S"a"`, "area": "N7"}, halves: none,
		},
	}
	return map[string]func(*testing.T) *stage{
		"roles": rolesShape().open, "plain": plain.open, "partition key only": partition.open,
		"partly known half": half.open, "verbatim": verbatim.open, "native": native.open,
	}
}

func rolesShape() shape[ShapeRoles] {
	return shape[ShapeRoles]{
		key: ShapeRoles{ID: "a", Area: 7}, other: ShapeRoles{ID: "b", Area: 7, Tenant: "t"}, facts: func(v *ShapeRoles) *Facts { return &v.Facts },
		given: func(v *ShapeRoles, first string) {
			v.Tenant, v.First = "t", first
			v.Version, v.CreatedAt, v.UpdatedAt = 77, dawn.AddDate(-9, 0, 0), dawn.AddDate(9, 0, 0)
		},
		owned: func(p *ShapeRoles) []entity.UpdateOption {
			return []entity.UpdateOption{entity.Set(&p.Version, 9), entity.Set(&p.CreatedAt, dawn), entity.Remove(&p.UpdatedAt), entity.Add(&p.Version, 1)}
		},
		layout: layout{
			at:      keys("pk", "$app#v1#shaperoles#a", "sk", "$app#v1#shaperoles#0000000000000000007"),
			otherAt: keys("pk", "$app#v1#shaperoles#b", "sk", "$app#v1#shaperoles#0000000000000000007"),
			hidden:  true, roles: true,
			fixed: raw{
				"pk": `S"$app#v1#shaperoles#a"`, "sk": `S"$app#v1#shaperoles#0000000000000000007"`, "__edd_e__": `S"ShapeRoles"`,
				"id": `S"a"`, "area": "N7", "tenant": `S"t"`, "gsi1pk": `S"$app#v1#shaperoles#t"`,
			},
			halves: func(f Facts) raw { return raw{"gsi1sk": `S"$app#v1#shaperoles#` + f.Title + `"`} },
		},
	}
}

// image is the item that the shape stores, without its write id.
func (st *layout) image(f Facts, version string, created, updated time.Time, first string) raw {
	it := maps.Clone(st.fixed)
	maps.Copy(it, st.halves(f))
	it["title"] = `S"` + f.Title + `"`
	if f.Note != "" {
		it["note"] = `S"` + f.Note + `"`
	}
	if f.Count != 0 {
		it["count"] = "N3"
	}
	if !f.SeenAt.IsZero() {
		it["seenAt"] = `S"` + f.SeenAt.Format("2006-01-02T15:04:05Z") + `"`
	}
	if st.roles {
		const nine = "2006-01-02T15:04:05.000000000Z"
		it["version"], it["first"] = "N"+version, `S"`+first+`"`
		it["createdAt"], it["updatedAt"] = `S"`+created.Format(nine)+`"`, `S"`+updated.Format(nine)+`"`
	}
	return it
}
