package schemalock

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// modelChange changes one part of a model. want has a line for each expected change, with a ! before breaking ones; if empty,
// the lock stays the same.
type modelChange struct {
	of     func() model
	change func(*model)
	want   string
}

// mutations changes every part of a declaration that a lock contains, and every part that it leaves out.
var mutations = map[string]modelChange{
	"namespace":        {person, func(m *model) { m.options.Namespace = "other" }, "!key partition\n!key sort\n!unique.Constraint(email) key\n!index gsi1 partition\n!index gsi1 sort"},
	"namespaceVersion": {beat, func(m *model) { m.options.NamespaceVersion = 2 }, "!key partition\n!key sort\n!timeseries.Events events"},
	"pk attribute":     {beat, func(m *model) { m.options.PK = "p" }, "!key partition"},
	"sk attribute":     {beat, func(m *model) { m.options.SK = "s" }, "!key sort"},
	"ttl attribute":    {beat, func(m *model) { m.options.TTL = "t" }, "!ttl"},
	"precision":        {beat, func(m *model) { m.options.Precision = key.Milli }, "!timeseries.Events events\n!attribute at"},
	"interop": {
		func() model {
			m := beat()
			m.options.Precision = key.Milli
			return m
		},
		func(m *model) { m.options.Profile = schema.NewProfile(true) }, "!items\n!key partition\n!timeseries.Events events",
	},
	"native type": {reading, func(m *model) { retype[int](m, "Hardware", `dynamodbav:"hardware_id"`) }, "!key partition\n!attribute hardware_id"},
	"name option": {beat, func(m *model) { m.options.Name = "Pulse" }, "+Pulse\n-Beat"},

	"name":          {beat, func(m *model) { m.declare(0, `name:"Pulse" table:"beats" pk:"$#{device}" sk:"$"`) }, "+Pulse\n-Beat"},
	"table":         {beat, func(m *model) { m.declare(0, `name:"Beat" table:"b" pk:"$#{device}" sk:"$"`) }, "!table"},
	"partition":     {beat, func(m *model) { m.declare(0, `name:"Beat" table:"beats" pk:"$#d_{device}" sk:"$"`) }, "!key partition"},
	"sort":          {beat, func(m *model) { m.declare(0, `name:"Beat" table:"beats" pk:"$#{device}" sk:"$#x"`) }, "!key sort\n!timeseries.Events events"},
	"part order":    {person, func(m *model) { m.declare(0, `name:"Person" pk:"$#{number}" sk:"$#{tenant}"`) }, "!key partition\n!key sort"},
	"part width":    {person, func(m *model) { m.declare(0, `name:"Person" pk:"$#{tenant}" sk:"$#{number:08}"`) }, "!key sort"},
	"part lower":    {person, func(m *model) { m.declare(0, `name:"Person" pk:"$#{tenant|lower}" sk:"$#{number}"`) }, "!key partition"},
	"part unsigned": {person, func(m *model) { retype[uint64](m, "Number", `dynamodbav:"number" entity:"zero"`) }, "!key sort\n!attribute number"},
	"payload up":    {beat, func(m *model) { m.declare(0, `name:"Beat" table:"beats" pk:"$#{device}" sk:"$" payload:"2"`) }, "payload"},
	"payload down": {reading, func(m *model) {
		m.declare(0, `name:"Reading" table:"readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}" kind:"item=reading"`)
	}, "!payload"},
	"kind": {reading, func(m *model) {
		m.declare(0, `name:"Reading" table:"readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}" kind:"item=other" payload:"2"`)
	}, "!kind"},
	"kind dropped": {reading, func(m *model) {
		m.declare(0, `name:"Reading" table:"readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}" payload:"2"`)
	}, "!kind"},
	"verbatim text": {reading, func(m *model) {
		m.declare(0, `name:"Reading" table:"readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}-{batch_id}" kind:"item=reading" payload:"2"`)
	}, "!key sort"},
	"verbatim attribute": {reading, func(m *model) {
		m.declare(0, `name:"Reading" table:"readings" pk:"hardware_id" sk:"other={timestamp_ms:013}#{batch_id}" kind:"item=reading" payload:"2"`)
	}, "!key sort"},
	"verbatim to dollar": {reading, func(m *model) {
		m.declare(0, `name:"Reading" table:"readings" pk:"hardware_id" sk:"$#{timestamp_ms:013}#{batch_id}" payload:"2"`)
	}, "!items\n!key sort\n!kind"},
	"stream": {beat, func(m *model) {
		m.declare(0, `name:"Beat" table:"beats" pk:"$#{device}" sk:"$" stream:"both"`)
	}, ""},

	"index name":             {person, func(m *model) { m.declare(1, `name:"ofTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}"`) }, "index gsi1 name"},
	"index renamed in table": {person, func(m *model) { m.declare(1, `name:"byTeam" index:"gsi9" pk:"$#{team}" sk:"$#{joined}"`) }, "index gsi9\nindex gsi1"},
	"index partition":        {person, func(m *model) { m.declare(1, `name:"byTeam" index:"gsi1" pk:"$#{name}" sk:"$#{joined}"`) }, "!index gsi1 partition"},
	"index sort":             {person, func(m *model) { m.declare(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{rank}"`) }, "!index gsi1 sort"},
	"index sort dropped":     {person, func(m *model) { m.declare(1, `name:"byTeam" index:"gsi1" pk:"$#{team}"`) }, "!index gsi1 sort"},
	"index part format":      {person, func(m *model) { m.tag("Joined", `dynamodbav:"joined,omitempty" entity:"time=ms"`) }, "!index gsi1 sort\n!attribute joined"},
	"native index order":     {reading, func(m *model) { m.declare(1, `name:"byDay" index:"day" pk:"zone+day" sk:"timestamp_ms"`) }, "!index day partition"},
	"index lean": {person, func(m *model) {
		m.declare(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" project:"name"`)
	}, "index gsi1 projection"},
	"index shards": {person, func(m *model) {
		m.declare(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" shards:"4"`)
	}, "!index gsi1 shards"},
	"index leaner": {person, func(m *model) {
		m.declare(2, `name:"byEmail" index:"gsi2" pk:"gsi2pk={email|lower}" project:"name,email,tenant"`)
	}, "index gsi2 projection"},
	"index richer": {person, func(m *model) {
		m.declare(2, `name:"byEmail" index:"gsi2" pk:"gsi2pk={email|lower}" project:"name,team,email,tenant,rank"`)
	}, "!index gsi2 projection"},
	"index rich": {person, func(m *model) { m.declare(2, `name:"byEmail" index:"gsi2" pk:"gsi2pk={email|lower}"`) }, "!index gsi2 projection"},
	"projection order": {person, func(m *model) {
		m.declare(2, `name:"byEmail" index:"gsi2" pk:"gsi2pk={email|lower}" project:"team, email, tenant, name"`)
	}, ""},
	"when": {person, func(m *model) {
		m.declare(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" when:"active=true"`)
	}, "!index gsi1 when"},
	"when dropped": {choosy, func(m *model) { m.declare(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}"`) }, "!index gsi1 when"},
	"when constant": {choosy, func(m *model) {
		m.declare(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" when:"rank=2|11,active=true,!score_"`)
	}, "!index gsi1 when"},
	"when present": {choosy, func(m *model) {
		m.declare(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" when:"rank=2|10,active=true,score_"`)
	}, "!index gsi1 when"},
	"when order": {choosy, func(m *model) {
		m.declare(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" when:"!score_, active=true,rank=10|2"`)
	}, ""},
	"when type":           {choosy, func(m *model) { retype[int8](m, "Rank", `dynamodbav:"rank"`) }, "!attribute rank\n!index lsi1 sort"},
	"index dropped":       {person, func(m *model) { m.decls = append(m.decls[:1:1], m.decls[2:]...) }, "index gsi1"},
	"local index dropped": {person, func(m *model) { m.decls = append(m.decls[:3:3], m.decls[4:]...) }, "index lsi1"},
	"local index made":    {person, func(m *model) { m.declare(3, `name:"byRank" index:"lsi2" sk:"ranked={rank:05}"`) }, "!index lsi2\nindex lsi1"},

	"orderBy":        {beat, func(m *model) { m.tag("At", `dynamodbav:"time"`); m.declare(1, `orderBy:"time" ttl:"7d"`) }, "!timeseries.Events events\n!timeseries.Events orderBy\nattribute time\n!attribute at"},
	"orderBy format": {beat, func(m *model) { m.tag("At", `dynamodbav:"at" entity:"time=ms"`) }, "!timeseries.Events events\n!attribute at"},
	"orderBy type":   {beat, func(m *model) { retype[int64](m, "At", `dynamodbav:"at"`) }, "!timeseries.Events events\n!attribute at"},
	"events ttl":     {beat, func(m *model) { m.declare(1, `orderBy:"at" ttl:"8d"`) }, "timeseries.Events ttl"},
	"events no ttl":  {beat, func(m *model) { m.declare(1, `orderBy:"at"`) }, "timeseries.Events ttl\nttl"},
	"late":           {beat, func(m *model) { m.declare(1, `orderBy:"at" ttl:"7d" late:"record" maxAhead:"1h"`) }, ""},
	"events shards":  {beat, func(m *model) { m.declare(1, `orderBy:"at" ttl:"7d" shards:"8"`) }, "!timeseries.Events shards"},
	"events reshard": {shardedBeat, func(m *model) { m.declare(1, `orderBy:"at" shards:"9"`) }, "!timeseries.Events shards"},
	"events joined":  {shardedBeat, func(m *model) { m.declare(1, `orderBy:"at"`) }, "!timeseries.Events shards"},
	"events alone":   {shardedBeat, func(m *model) { m.declare(1, `orderBy:"at" shards:"8" current:"none"`) }, "!timeseries.Events current"},
	"events dropped": {beat, func(m *model) { m.decls = m.decls[:1]; m.tag("Level", `dynamodbav:"level,omitempty"`) }, "!timeseries.Events\nttl\n!attribute level"},
	"append dropped": {beat, func(m *model) {
		m.tag("Level", `dynamodbav:"level,omitempty"`)
		m.tag("Owner", `dynamodbav:"owner" entity:"append"`)
	}, "!attribute level\nattribute owner"},
	"retention":      {person, func(m *model) { m.declare(4, `ttl:"1h"`) }, "versioned.Retain ttl"},
	"retain to lock": {person, func(m *model) { m.decls[4] = declaration[versioned.Lock](``) }, "versioned.Lock\n!versioned.Retain\n!index gsi2 projection"},
	"bin ttl":        {person, func(m *model) { m.declare(5, `unique:"free"`) }, "lifecycle.SoftDelete ttl"},
	"policy":         {person, func(m *model) { m.declare(5, `ttl:"30d" unique:"reserve"`) }, "lifecycle.SoftDelete unique"},
	"deletedAt": {person, func(m *model) {
		m.fields = append(m.fields, field[time.Time]("Deleted", `dynamodbav:"gone,omitempty" entity:"deleted_at"`))
	}, "!lifecycle.SoftDelete deletedAt\nattribute gone"},
	"bin dropped":    {person, func(m *model) { m.decls = append(m.decls[:5:5], m.decls[6]) }, "!lifecycle.SoftDelete"},
	"unique case":    {person, func(m *model) { m.declare(6, `name:"email" fields:"tenant,{email|lower}"`) }, "!unique.Constraint(email) key"},
	"unique fields":  {person, func(m *model) { m.declare(6, `name:"email" fields:"email"`) }, "!unique.Constraint(email) key"},
	"unique name":    {person, func(m *model) { m.declare(6, `name:"mail" fields:"tenant,email"`) }, "unique.Constraint(mail)\n!unique.Constraint(email)"},
	"unique ttl":     {person, func(m *model) { m.declare(6, `name:"email" fields:"tenant,email" ttl:"1h"`) }, "unique.Constraint(email) ttl"},
	"unique dropped": {person, func(m *model) { m.decls = m.decls[:6]; m.declare(5, `ttl:"30d"`) }, "!unique.Constraint(email)"},
	"unique added":   {person, func(m *model) { m.decls = append(m.decls, declaration[unique.Constraint](`name:"name" fields:"name"`)) }, "unique.Constraint(name)"},
	"expiry":         {reading, func(m *model) { m.declare(2, `attr:"expiration_time" after:"30d"`) }, "lifecycle.TTL after\nlifecycle.TTL from"},
	"expiry attr":    {reading, func(m *model) { m.declare(2, `attr:"ends" from:"timestamp_ms" after:"90d"`) }, "!ttl\n!lifecycle.TTL attr"},
	"expiry dropped": {reading, func(m *model) { m.decls = m.decls[:2] }, "!lifecycle.TTL\nttl"},
	"series declared": {func() model { m := beat(); m.decls = m.decls[:1]; m.tag("Level", `dynamodbav:"level"`); return m }, func(m *model) {
		m.decls = append(m.decls, declaration[timeseries.Events](`orderBy:"at"`))
		m.tag("Level", `dynamodbav:"level" entity:"append"`)
	}, "!timeseries.Events\nattribute level"},
	"expiry declared": {func() model { m := reading(); m.decls = m.decls[:2]; return m }, func(m *model) {
		m.decls = append(m.decls, declaration[lifecycle.TTL](`attr:"expiration_time" after:"1d"`))
	}, "lifecycle.TTL\nttl"},
	"expiry declared for values and versions": {lasting, func(m *model) {
		m.decls = append(m.decls, declaration[lifecycle.TTL](`attr:"_ttl" after:"1d"`))
	}, "lifecycle.TTL\nunique.Constraint(email) expires\nversioned.Retain expires"},
	"expiry dropped for values and versions": {func() model {
		m := lasting()
		m.decls = append(m.decls, declaration[lifecycle.TTL](`attr:"_ttl" after:"1d"`))
		return m
	}, func(m *model) { m.decls = m.decls[:6] }, "!lifecycle.TTL\n!unique.Constraint(email) expires\n!versioned.Retain expires"},
	"retain declared": {func() model { m := person(); m.decls = m.decls[:4]; return m }, func(m *model) {
		m.decls = append(m.decls, declaration[versioned.Retain](``), declaration[lifecycle.SoftDelete](``))
	}, "versioned.Retain\nlifecycle.SoftDelete"},

	"attribute":         {person, func(m *model) { m.tag("Score", `dynamodbav:"points"`) }, "attribute points\n!attribute score"},
	"attribute dropped": {person, func(m *model) { m.drop("Score") }, "!attribute score"},
	"attribute added":   {person, func(m *model) { m.fields = append(m.fields, field[string]("Note", `dynamodbav:"note,omitempty"`)) }, "attribute note"},
	"zero added":        {person, func(m *model) { m.fields = append(m.fields, field[string]("Note", `dynamodbav:"note"`)) }, "attribute note"},
	"required added": {person, func(m *model) {
		m.fields = append(m.fields, field[string]("Note", `dynamodbav:"note" entity:"required"`))
	}, "!attribute note"},
	"required":           {person, func(m *model) { m.tag("Team", `dynamodbav:"team" entity:"required"`) }, "!attribute team"},
	"required no more":   {person, func(m *model) { m.tag("Name", `dynamodbav:"name"`) }, "attribute name"},
	"omitempty":          {person, func(m *model) { m.tag("Team", `dynamodbav:"team"`) }, "attribute team"},
	"pointer":            {person, func(m *model) { retype[*string](m, "Team", `dynamodbav:"team,omitempty"`) }, ""},
	"type":               {person, func(m *model) { retype[string](m, "Score", `dynamodbav:"score"`) }, "!attribute score"},
	"number as text":     {person, func(m *model) { m.tag("Score", `dynamodbav:"score,string"`) }, "!attribute score"},
	"fractions":          {person, func(m *model) { retype[int](m, "Score", `dynamodbav:"score"`) }, "!attribute score"},
	"no fractions":       {beat, func(m *model) { retype[*float64](m, "Level", `dynamodbav:"level,omitempty" entity:"append"`) }, "!attribute level"},
	"integer size":       {beat, func(m *model) { retype[*int64](m, "Level", `dynamodbav:"level,omitempty" entity:"append"`) }, ""},
	"set to list":        {person, func(m *model) { m.tag("Tags", `dynamodbav:"tags,omitempty"`) }, "!attribute tags"},
	"time format":        {person, func(m *model) { m.tag("Created", `dynamodbav:"created" entity:"created_at,time=us"`) }, "!attribute created"},
	"time as number":     {person, func(m *model) { m.tag("Created", `dynamodbav:"created" entity:"created_at,time=unix"`) }, "!attribute created"},
	"number of time":     {reading, func(m *model) { m.tag("Expires", `dynamodbav:"expiration_time,omitempty" entity:"time=unix"`) }, "!attribute expiration_time"},
	"what is counted":    {reading, func(m *model) { m.tag("Timestamp", `dynamodbav:"timestamp_ms" entity:"time=unix"`) }, "!index day sort\n!attribute timestamp_ms"},
	"context added":      {writer, func(m *model) { m.tag("Name", `dynamodbav:"name" entity:"required,context=actor"`) }, "attribute name"},
	"context renamed":    {witness, func(m *model) { m.tag("Name", `dynamodbav:"name" entity:"required,context=user"`) }, "attribute name"},
	"context dropped":    {witness, func(m *model) { m.tag("Name", `dynamodbav:"name" entity:"required"`) }, "!attribute name"},
	"created_at dropped": {person, func(m *model) { m.tag("Created", `dynamodbav:"created"`) }, "!attribute created"},
	"created_at moved":   {person, func(m *model) { m.tag("Created", `dynamodbav:"born" entity:"created_at"`) }, "attribute born\n!attribute created"},
	"created_at added": {beat, func(m *model) {
		m.fields = append(m.fields, field[time.Time]("Created", `dynamodbav:"created" entity:"created_at"`))
	}, "attribute created"},
	"immutable dropped": {person, func(m *model) { m.tag("Tenant", `dynamodbav:"tenant"`) }, "attribute tenant"},
	"set_once":          {person, func(m *model) { m.tag("Team", `dynamodbav:"team,omitempty" entity:"set_once"`) }, "attribute team"},
	"zero dropped":      {person, func(m *model) { m.tag("Number", `dynamodbav:"number"`) }, "!attribute number"},
	"secret":            {person, func(m *model) { m.tag("Email", `dynamodbav:"email,omitempty"`) }, "attribute email"},
	"elements":          {person, func(m *model) { m.tag("Places", `dynamodbav:"places,omitempty,omitemptyelem"`) }, "attribute places"},
	"nested": {person, func(m *model) {
		retype[[]struct {
			Street string `dynamodbav:"street"`
			Town   string `dynamodbav:"town,omitempty"`
		}](m, "Places", `dynamodbav:"places,omitempty"`)
	}, "attribute places[].town\n!attribute places[].city"},
	"nested type": {person, func(m *model) {
		retype[[]struct {
			Street int    `dynamodbav:"street"`
			City   string `dynamodbav:"city,omitempty"`
		}](m, "Places", `dynamodbav:"places,omitempty"`)
	}, "!attribute places[].street"},
	"nested Go names": {person, func(m *model) {
		retype[[]*struct {
			Town string `dynamodbav:"city,omitempty"`
			Line string `dynamodbav:"street"`
		}](m, "Places", `dynamodbav:"places,omitempty"`)
	}, ""},
	"nested dropped":    {person, func(m *model) { m.drop("Places") }, "!attribute places"},
	"nested time":       {person, func(m *model) { retype[map[string]string](m, "Seen", `dynamodbav:"seen,omitempty"`) }, "!attribute seen{}"},
	"Go name":           {person, func(m *model) { m.fields[2].Name = "Squad" }, ""},
	"Go order":          {person, func(m *model) { m.fields[0], m.fields[9] = m.fields[9], m.fields[0] }, ""},
	"declaration order": {person, func(m *model) { m.decls[1], m.decls[6] = m.decls[6], m.decls[1] }, ""},
}

func TestCompare_ClassifiesEveryPartOfADeclaration(t *testing.T) {
	t.Parallel()
	for name, m := range mutations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := m.of(), m.of()
			m.change(&after)
			old, now := before.lock(t), after.lock(t)
			if m.want == "" {
				require.Equal(t, old.String(), now.String())
			} else {
				require.NotEqual(t, old.String(), now.String())
			}
			var got []string
			changes := Compare(old, now)
			for _, c := range changes {
				require.NotEmpty(t, c.Why, c.What)
				require.NotEqual(t, c.Old, c.New)
				mark := ""
				if c.Breaking {
					mark = "!"
				}
				switch {
				case c.What != "":
					got = append(got, mark+c.What)
				case c.New != "":
					require.False(t, c.Breaking)
					got = append(got, "+"+c.Entity)
				default:
					require.True(t, c.Breaking)
					got = append(got, "-"+c.Entity)
				}
			}
			var want []string
			for line := range strings.SplitSeq(m.want, "\n") {
				if line != "" {
					want = append(want, line)
				}
			}
			require.ElementsMatch(t, want, got, "%v", changes)
		})
	}
}

// The order of clauses and constants in the tag does not matter; attributes are written as elsewhere, constants as they are stored.
func TestLock_WritesAConditionInOneForm(t *testing.T) {
	t.Parallel()
	require.Contains(t, choosy().lock(t).String(), "  index gsi1 when = !score_,active=true,rank=10|2\n")
	m := choosy()
	m.declare(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" when:"joined=2026-01-02T15:04:05Z,score%=a b|c"`)
	m.tag("Scored", `dynamodbav:"score%,omitempty"`)
	require.Contains(t, m.lock(t).String(), `  index gsi1 when = joined="2026-01-02T15:04:05Z",score%2525="a b"|"c"`+"\n")
}
