package upgrades_test

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/versioned"
)

// The declarations of the pairs. Names of earlier attributes end with 1; the upgrade only renames. A type parameter is a
// declaration, or undeclared.

type (
	undeclared = struct{}
	locked     = versioned.Lock
	retained   = versioned.Retain
	deleted    = lifecycle.SoftDelete

	box struct {
		N int    `dynamodbav:"n"`
		S string `dynamodbav:"s"`
	}
)

// bare1 was stored by the earlier program, and bare2 would have been if its attributes had had today's names.
type (
	bare1[D any] struct {
		_     entity.Key `name:"Thing" pk:"$#{id}" sk:"$"`
		_     D          ``
		ID    string     `dynamodbav:"id"`
		Team  string     `dynamodbav:"team1"`
		Title string     `dynamodbav:"title1"`
		Total int        `dynamodbav:"total1"`
		Done  bool       `dynamodbav:"done1"`
		Box   box        `dynamodbav:"box1"`
		Same  int        `dynamodbav:"same,omitempty"`
		Seen  time.Time  `dynamodbav:"seen1"`
	}
	bare2[D any] struct {
		_     entity.Key `name:"Thing" pk:"$#{id}" sk:"$" payload:"2"`
		_     D          ``
		ID    string     `dynamodbav:"id"`
		Team  string     `dynamodbav:"team"`
		Title string     `dynamodbav:"title"`
		Total int        `dynamodbav:"total"`
		Done  bool       `dynamodbav:"done"`
		Box   box        `dynamodbav:"box"`
		Same  int        `dynamodbav:"same,omitempty"`
		Seen  time.Time  `dynamodbav:"seen"`
	}
)

// stated1 and stated2 are bare1 and bare2 with what the library keeps.
type (
	stated1[R, D any] struct {
		_       entity.Key `name:"Thing" pk:"$#{id}" sk:"$"`
		_       entity.GSI `name:"team" index:"gsi4" pk:"$#{team1}" sk:"$#{total1:08}"`
		_       R          ``
		_       D          ``
		ID      string     `dynamodbav:"id"`
		Team    string     `dynamodbav:"team1"`
		Title   string     `dynamodbav:"title1"`
		Total   int        `dynamodbav:"total1"`
		Done    bool       `dynamodbav:"done1"`
		Box     box        `dynamodbav:"box1"`
		Same    int        `dynamodbav:"same,omitempty"`
		Seen    time.Time  `dynamodbav:"seen1"`
		Version int64      `dynamodbav:"version1" entity:"version"`
		Created time.Time  `dynamodbav:"created1" entity:"created_at"`
		Updated time.Time  `dynamodbav:"updated1" entity:"updated_at"`
	}
	stated2[R, D any] struct {
		_       entity.Key `name:"Thing" pk:"$#{id}" sk:"$" payload:"2"`
		_       entity.GSI `name:"team" index:"gsi4" pk:"$#{team}" sk:"$#{total:08}"`
		_       R          ``
		_       D          ``
		ID      string     `dynamodbav:"id"`
		Team    string     `dynamodbav:"team"`
		Title   string     `dynamodbav:"title"`
		Total   int        `dynamodbav:"total"`
		Done    bool       `dynamodbav:"done"`
		Box     box        `dynamodbav:"box"`
		Same    int        `dynamodbav:"same,omitempty"`
		Seen    time.Time  `dynamodbav:"seen"`
		Version int64      `dynamodbav:"version" entity:"version"`
		Created time.Time  `dynamodbav:"created" entity:"created_at"`
		Updated time.Time  `dynamodbav:"updated" entity:"updated_at"`
	}
)

// Today's declarations of things.
type (
	plainThing[D any] struct {
		_     entity.Key `name:"Thing" pk:"$#{id}" sk:"$" payload:"2"`
		_     entity.GSI `name:"flat" index:"gsi1" pk:"$#{team}" sk:"$#{level}" when:"level=0"`
		_     entity.GSI `name:"open" index:"gsi2" pk:"$#open" sk:"$#{total:04}" when:"done=false"`
		_     entity.GSI `name:"title" index:"gsi3" pk:"$#{title}" sk:"$#{total:08}"`
		_     D          ``
		ID    string     `dynamodbav:"id"`
		Team  string     `dynamodbav:"team"`
		Title string     `dynamodbav:"title"`
		Total int        `dynamodbav:"total"`
		Done  bool       `dynamodbav:"done"`
		Box   box        `dynamodbav:"box"`
		Same  int        `dynamodbav:"same,omitempty"`
		Seen  time.Time  `dynamodbav:"seen"`
		Level int        `dynamodbav:"level"`
		Note  *string    `dynamodbav:"note"`
		Other box        `dynamodbav:"other"`
		Due   time.Time  `dynamodbav:"due" entity:"time=unix"`
	}
	onceThing[D any] struct {
		_       entity.Key `name:"Thing" pk:"$#{id}" sk:"$" payload:"2"`
		_       entity.GSI `name:"owner" index:"gsi1" pk:"$#{owner}" sk:"$#{first}"`
		_       entity.GSI `name:"unowned" index:"gsi2" pk:"$#{team}" when:"!owner"`
		_       D          ``
		ID      string     `dynamodbav:"id"`
		Team    string     `dynamodbav:"team"`
		Title   string     `dynamodbav:"title"`
		Total   int        `dynamodbav:"total"`
		Done    bool       `dynamodbav:"done"`
		Box     box        `dynamodbav:"box"`
		Same    int        `dynamodbav:"same,omitempty"`
		Seen    time.Time  `dynamodbav:"seen"`
		Owner   string     `dynamodbav:"owner" entity:"immutable"`
		First   string     `dynamodbav:"first" entity:"set_once"`
		Level   int        `dynamodbav:"level" entity:"immutable"`
		Created time.Time  `dynamodbav:"created" entity:"created_at"`
	}
	filledThing[D any] struct {
		_     entity.Key `name:"Thing" pk:"$#{id}" sk:"$" payload:"2"`
		_     entity.GSI `name:"title" index:"gsi1" pk:"$#{title}" sk:"$#{state}" missing:"error"`
		_     D          ``
		ID    string     `dynamodbav:"id"`
		Team  string     `dynamodbav:"team"`
		Title string     `dynamodbav:"title"`
		Total int        `dynamodbav:"total"`
		Done  bool       `dynamodbav:"done"`
		Box   box        `dynamodbav:"box"`
		Same  int        `dynamodbav:"same,omitempty"`
		Seen  time.Time  `dynamodbav:"seen"`
		Must  string     `dynamodbav:"must" entity:"required"`
		State string     `dynamodbav:"state" entity:"default=new"`
		Level *int       `dynamodbav:"level" entity:"default=0"`
		Ref   string     `dynamodbav:"ref" entity:"id=ulid"`
		Tags  []string   `dynamodbav:"tags" entity:"notnull"`
	}
	endingThing struct {
		_     entity.Key    `name:"Thing" pk:"$#{id}" sk:"$" payload:"2"`
		_     lifecycle.TTL `attr:"ends" after:"9000d" from:"seen"`
		ID    string        `dynamodbav:"id"`
		Team  string        `dynamodbav:"team"`
		Title string        `dynamodbav:"title"`
		Total int           `dynamodbav:"total"`
		Done  bool          `dynamodbav:"done"`
		Box   box           `dynamodbav:"box"`
		Same  int           `dynamodbav:"same,omitempty"`
		Seen  time.Time     `dynamodbav:"seen"`
		Ends  int64         `dynamodbav:"ends,omitempty"`
	}
	statedThing[R, D any] struct {
		_       entity.Key `name:"Thing" pk:"$#{id}" sk:"$" payload:"2"`
		_       entity.GSI `name:"team" index:"gsi1" pk:"$#{team}" sk:"$#{updated}" shards:"3"`
		_       R          ``
		_       D          ``
		ID      string     `dynamodbav:"id"`
		Team    string     `dynamodbav:"team"`
		Title   string     `dynamodbav:"title"`
		Total   int        `dynamodbav:"total"`
		Done    bool       `dynamodbav:"done"`
		Box     box        `dynamodbav:"box"`
		Same    int        `dynamodbav:"same,omitempty"`
		Seen    time.Time  `dynamodbav:"seen"`
		Actor   string     `dynamodbav:"actor" entity:"context=actor"`
		Version int64      `dynamodbav:"version" entity:"version"`
		Created time.Time  `dynamodbav:"created" entity:"created_at"`
		Updated time.Time  `dynamodbav:"updated" entity:"updated_at"`
	}
	keptThing[R, D any] struct {
		_       entity.Key `name:"Thing" pk:"$#{id}" sk:"$" payload:"2"`
		_       entity.GSI `name:"team" index:"gsi4" pk:"$#{team}" sk:"$#{total:08}"`
		_       entity.GSI `name:"open" index:"gsi2" pk:"$#{level}" sk:"$#{total:04}" when:"level=0,done=false"`
		_       R          ``
		_       D          ``
		ID      string     `dynamodbav:"id"`
		Team    string     `dynamodbav:"team"`
		Title   string     `dynamodbav:"title"`
		Total   int        `dynamodbav:"total"`
		Done    bool       `dynamodbav:"done"`
		Box     box        `dynamodbav:"box"`
		Same    int        `dynamodbav:"same,omitempty"`
		Seen    time.Time  `dynamodbav:"seen"`
		Level   int        `dynamodbav:"level"`
		Owner   string     `dynamodbav:"owner" entity:"immutable"`
		First   string     `dynamodbav:"first" entity:"set_once"`
		State   string     `dynamodbav:"state" entity:"default=new"`
		Version int64      `dynamodbav:"version" entity:"version"`
		Created time.Time  `dynamodbav:"created" entity:"created_at"`
		Updated time.Time  `dynamodbav:"updated" entity:"updated_at"`
	}
)

// pairs are pairs of declarations: the earlier one under both names, and today's.
var pairs = map[string]func(*pairing){
	"plain":                pair[bare1[undeclared], bare2[undeclared], plainThing[undeclared]],
	"plain, soft delete":   pair[bare1[undeclared], bare2[undeclared], plainThing[deleted]],
	"once":                 pair[bare1[undeclared], bare2[undeclared], onceThing[undeclared]],
	"once, deleted before": pair[bare1[deleted], bare2[deleted], onceThing[deleted]],
	"filled":               pair[bare1[undeclared], bare2[undeclared], filledThing[undeclared]],
	"ttl":                  pair[bare1[undeclared], bare2[undeclared], endingThing],
	"lock":                 pair[bare1[undeclared], bare2[undeclared], statedThing[locked, undeclared]],
	"retain":               pair[bare1[undeclared], bare2[undeclared], statedThing[retained, undeclared]],
	"retain, soft delete":  pair[bare1[undeclared], bare2[undeclared], statedThing[retained, deleted]],
	"lock, deleted before": pair[bare1[deleted], bare2[deleted], statedThing[locked, deleted]],
	"kept":                 pair[stated1[undeclared, undeclared], stated2[undeclared, undeclared], keptThing[undeclared, undeclared]],
	"kept, retain":         pair[stated1[undeclared, undeclared], stated2[undeclared, undeclared], keptThing[retained, undeclared]],
	"retained before":      pair[stated1[retained, undeclared], stated2[retained, undeclared], keptThing[retained, undeclared]],
	"all before":           pair[stated1[retained, deleted], stated2[retained, deleted], keptThing[retained, deleted]],
}
