package schemalock

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// model is a struct as data, so that a test can change one thing of it.
type model struct {
	decls   []reflect.StructField
	fields  []reflect.StructField
	options schema.Options
}

func declaration[D any](tag string) reflect.StructField {
	return reflect.StructField{Name: "_", PkgPath: "example.com/x", Type: reflect.TypeFor[D](), Tag: reflect.StructTag(tag)}
}

func field[V any](name, tag string) reflect.StructField {
	return reflect.StructField{Name: name, Type: reflect.TypeFor[V](), Tag: reflect.StructTag(tag)}
}

// lock is the lock of m alone.
func (m model) lock(t require.TestingT) Lock { return Lock{Entities: []Entity{entityOf(m.schema(t))}} }

func (m model) schema(t require.TestingT) *schema.Schema {
	s, err := schema.Build(reflect.StructOf(slices.Concat(m.decls, m.fields)), m.options)
	require.NoError(t, err)
	return s
}

// tag replaces the tag of a field, or of the i-th declaration.
func (m *model) tag(name, tag string) {
	i := slices.IndexFunc(m.fields, func(f reflect.StructField) bool { return f.Name == name })
	m.fields[i].Tag = reflect.StructTag(tag)
}

// retype replaces type and tag of a field.
func retype[V any](m *model, name, tag string) {
	i := slices.IndexFunc(m.fields, func(f reflect.StructField) bool { return f.Name == name })
	m.fields[i] = field[V](name, tag)
}

func (m *model) declare(i int, tag string) { m.decls[i].Tag = reflect.StructTag(tag) }

func (m *model) drop(name string) {
	m.fields = slices.DeleteFunc(m.fields, func(f reflect.StructField) bool { return f.Name == name })
}

func dollar() schema.Options {
	return schema.Options{Namespace: "app", NamespaceVersion: 1, PK: "pk", SK: "sk", TTL: "_ttl", Precision: key.Nano}
}

type address struct {
	Street string `dynamodbav:"street"`
	City   string `dynamodbav:"city,omitempty"`
}

// person has history, soft delete and unique values. Its declarations are: 0 key, 1 byTeam, 2 byEmail, 3 byRank, 4 Retain,
// 5 SoftDelete, 6 Constraint.
func person() model {
	return model{
		options: dollar(),
		decls: []reflect.StructField{
			declaration[entity.Key](`name:"Person" pk:"$#{tenant}" sk:"$#{number}"`),
			declaration[entity.GSI](`name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}"`),
			declaration[entity.GSI](`name:"byEmail" index:"gsi2" pk:"gsi2pk={email|lower}" project:"name,team,email,tenant"`),
			declaration[entity.LSI](`name:"byRank" index:"lsi1" sk:"ranked={rank:05}"`),
			declaration[versioned.Retain](`ttl:"90d"`),
			declaration[lifecycle.SoftDelete](`ttl:"30d" unique:"free"`),
			declaration[unique.Constraint](`name:"email" fields:"tenant,email"`),
		},
		fields: []reflect.StructField{
			field[string]("Tenant", `dynamodbav:"tenant" entity:"immutable"`),
			field[int64]("Number", `dynamodbav:"number" entity:"zero"`),
			field[string]("Team", `dynamodbav:"team,omitempty"`),
			field[string]("Email", `dynamodbav:"email,omitempty" entity:"secret"`),
			field[string]("Name", `dynamodbav:"name" entity:"required"`),
			field[time.Time]("Joined", `dynamodbav:"joined,omitempty" entity:"time=s"`),
			field[uint16]("Rank", `dynamodbav:"rank"`),
			field[float64]("Score", `dynamodbav:"score"`),
			field[*bool]("Active", `dynamodbav:"active"`),
			field[[]string]("Tags", `dynamodbav:"tags,omitempty,stringset"`),
			field[[]address]("Places", `dynamodbav:"places,omitempty"`),
			field[map[string]time.Time]("Seen", `dynamodbav:"seen,omitempty"`),
			field[int64]("Version", `dynamodbav:"version" entity:"version"`),
			field[time.Time]("Created", `dynamodbav:"created" entity:"created_at"`),
			field[time.Time]("Updated", `dynamodbav:"updated" entity:"updated_at"`),
		},
	}
}

// beat is a series. Its declarations are: 0 key, 1 Events.
func beat() model {
	return model{
		options: dollar(),
		decls: []reflect.StructField{
			declaration[entity.Key](`name:"Beat" table:"beats" pk:"$#{device}" sk:"$"`),
			declaration[timeseries.Events](`orderBy:"at" ttl:"7d"`),
		},
		fields: []reflect.StructField{
			field[string]("Device", `dynamodbav:"device"`),
			field[time.Time]("At", `dynamodbav:"at"`),
			field[*int]("Level", `dynamodbav:"level,omitempty" entity:"append"`),
			field[string]("Owner", `dynamodbav:"owner,omitempty"`),
		},
	}
}

// reading is verbatim and expires. Its declarations are: 0 key, 1 byDay, 2 TTL.
func reading() model {
	return model{
		options: dollar(),
		decls: []reflect.StructField{
			declaration[entity.Key](`name:"Reading" table:"readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}" kind:"item=reading" payload:"2"`),
			declaration[entity.GSI](`name:"byDay" index:"day" pk:"day+zone" sk:"timestamp_ms"`),
			declaration[lifecycle.TTL](`attr:"expiration_time" from:"timestamp_ms" after:"90d"`),
		},
		fields: []reflect.StructField{
			field[string]("Hardware", `dynamodbav:"hardware_id"`),
			field[int64]("Timestamp", `dynamodbav:"timestamp_ms" entity:"time=unixms"`),
			field[string]("Batch", `dynamodbav:"batch_id"`),
			field[string]("Day", `dynamodbav:"day,omitempty"`),
			field[string]("Zone", `dynamodbav:"zone,omitempty"`),
			field[int64]("Expires", `dynamodbav:"expiration_time,omitempty"`),
		},
	}
}

func TestLock_SaysWhatIsOnDisk(t *testing.T) {
	t.Parallel()
	l := Lock{Entities: slices.Concat(beat().lock(t).Entities, person().lock(t).Entities, reading().lock(t).Entities)}
	require.Equal(t, intro+`
entity Beat
  table = beats
  items = $
  payload = 1
  key partition = pk S $app#v1#beat#{device string}
  key sort = sk S $app#v1#beat
  ttl = _ttl
  timeseries.Events = declared
  timeseries.Events events = $app#v1#beat#e#{at time=ns}
  timeseries.Events orderBy = at
  timeseries.Events ttl = 7d
  attribute at = S time=ns always
  attribute device = S always
  attribute level = N int64 optional append
  attribute owner = S optional

entity Person
  table = (default)
  items = $
  payload = 1
  key partition = pk S $app#v1#person#{tenant string}
  key sort = sk S $app#v1#person#{number int:19}
  ttl = _ttl
  lifecycle.SoftDelete = declared
  lifecycle.SoftDelete deletedAt = deletedAt time=ns
  lifecycle.SoftDelete ttl = 30d
  lifecycle.SoftDelete unique = free
  unique.Constraint(email) = declared
  unique.Constraint(email) key = $app#v1#person.email#{tenant string}#{email string}
  unique.Constraint(email) ttl = forever
  versioned.Retain = declared
  versioned.Retain ttl = 90d
  index gsi1 = global
  index gsi1 partition = gsi1pk S $app#v1#person#{team string}
  index gsi1 sort = gsi1sk S $app#v1#person#{joined time=s}
  index gsi1 projection = all
  index gsi2 = global
  index gsi2 partition = gsi2pk S verbatim {email string|lower}
  index gsi2 projection = keys email name team tenant
  index lsi1 = local
  index lsi1 sort = ranked S verbatim {rank uint:5}
  index lsi1 projection = all
  attribute active = BOOL null
  attribute created = S time=ns always created_at
  attribute email = S optional
  attribute joined = S time=s optional
  attribute name = S required
  attribute number = N int64 always zero
  attribute places = L optional
  attribute places[] = M
  attribute places[].city = S optional
  attribute places[].street = S always
  attribute rank = N uint16 always
  attribute score = N float64 always
  attribute seen = M keys=string optional
  attribute seen{} = S time=ns
  attribute tags = SS optional
  attribute team = S optional
  attribute tenant = S always immutable
  attribute updated = S time=ns always updated_at
  attribute version = N int64 always version

entity Reading
  table = readings
  items = verbatim
  payload = 2
  kind = item=reading
  key partition = native hardware_id S
  key sort = ts_batch S verbatim {timestamp_ms int:13}#{batch_id string}
  ttl = expiration_time
  lifecycle.TTL = declared
  lifecycle.TTL attr = expiration_time
  lifecycle.TTL after = 90d
  lifecycle.TTL from = timestamp_ms
  index day = global
  index day partition = native day S + zone S
  index day sort = native timestamp_ms N time=unixms
  index day projection = all
  attribute batch_id = S always
  attribute day = S optional
  attribute expiration_time = N int64 optional
  attribute hardware_id = S always
  attribute timestamp_ms = N int64 always time=unixms
  attribute zone = S optional
`, l.String())
	again, err := Parse([]byte(l.String()))
	require.NoError(t, err)
	require.Equal(t, l, again)
	require.Empty(t, Compare(l, again))
}
