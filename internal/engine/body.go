package engine

import (
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/wire"
	"github.com/dynastrata/dynastrata/internal/write"
)

// body writes the text of a request. Its memory is used for the next one.
type body struct {
	wire.Writer
	expr.Renderer // of the expressions of one item
}

// mostKept is how many bytes of memory a body keeps. More is left to the garbage collector.
const mostKept = 256 << 10

var bodies = sync.Pool{New: func() any { return new(body) }}

// finish ends the text, which becomes that of the request, and the use of b.
func (q *request) finish(b *body, capacity types.ReturnConsumedCapacity) (err error) {
	b.Add(`,"ReturnConsumedCapacity":"`)
	b.Add(string(capacity))
	b.Add(`"}`)
	q.Text, err = b.Finish()
	if cap(b.Text) <= mostKept {
		bodies.Put(b)
	}
	return err
}

// condition writes an expression after its name, nothing for the empty condition.
func (b *body) condition(name string, c expr.Cond) {
	if c.Op != expr.None {
		b.Text = append(b.AppendCond(append(b.Text, name...), c), '"')
	}
}

// placeholders writes what those of the expressions so far stand for, and forgets it.
func (b *body) placeholders() {
	for i, name := range b.Names {
		next := `,"#`
		if i == 0 {
			next = `,"ExpressionAttributeNames":{"#`
		}
		b.Text = strconv.AppendInt(append(b.Text, next...), int64(i), 10)
		b.Text = wire.AppendString(append(b.Text, `":`...), name)
	}
	if len(b.Names) > 0 {
		b.Add(`}`)
	}
	for i, v := range b.Values {
		next := `,":`
		if i == 0 {
			next = `,"ExpressionAttributeValues":{":`
		}
		b.Text = strconv.AppendInt(append(b.Text, next...), int64(i), 10)
		b.Add(`":`)
		b.Value(v)
	}
	if len(b.Values) > 0 {
		b.Add(`}`)
	}
	b.Reset()
}

// action writes the members of a write, alone or in a transaction.
func (b *body) action(a *write.Action) {
	b.String(`{"TableName":`, a.Table)
	if a.Kind == write.Put {
		b.Add(`,"Item":`)
		b.Item(a.Item)
	} else {
		b.Add(`,"Key":`)
		b.Item(a.Key)
	}
	b.condition(`,"ConditionExpression":"`, a.Cond)
	if len(a.Changes) > 0 {
		b.Text = append(b.AppendUpdate(append(b.Text, `,"UpdateExpression":"`...), a.Changes), '"')
	}
	b.placeholders()
	b.Add(`,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`)
}

// kinds are the beginnings of actions in a transaction.
var kinds = [...]string{write.Put: `{"Put":`, write.Update: `{"Update":`, write.Delete: `{"Delete":`, write.Check: `{"ConditionCheck":`}

// actions writes those of a transaction.
func (b *body) actions(all []write.Action) {
	next := `{"TransactItems":[`
	for i := range all {
		b.Add(next)
		b.Add(kinds[all[i].Kind])
		b.action(&all[i])
		b.Add(`}}`)
		next = `,`
	}
	b.Add(`]`)
}

// page writes what is to be read of a range.
func (b *body) page(g *write.Range) {
	b.String(`{"TableName":`, g.Table)
	if g.Index != "" {
		b.String(`,"IndexName":`, g.Index)
	}
	b.condition(`,"KeyConditionExpression":"`, g.Key)
	b.condition(`,"FilterExpression":"`, g.Filter)
	if g.Project != nil {
		b.Text = append(b.AppendProject(append(b.Text, `,"ProjectionExpression":"`...), g.Project), '"')
	}
	b.placeholders()
	if g.Start != nil {
		b.Add(`,"ExclusiveStartKey":`)
		b.Item(g.Start)
	}
	if g.Limit > 0 {
		b.Text = strconv.AppendInt(append(b.Text, `,"Limit":`...), int64(g.Limit), 10)
	}
	if g.Strong {
		b.Add(`,"ConsistentRead":true`)
	}
	if g.Desc {
		b.Add(`,"ScanIndexForward":false`)
	}
	if g.Count {
		b.Add(`,"Select":"COUNT"`)
	}
	if g.Segments > 0 {
		b.Text = strconv.AppendInt(append(b.Text, `,"Segment":`...), int64(g.Segment), 10)
		b.Text = strconv.AppendInt(append(b.Text, `,"TotalSegments":`...), int64(g.Segments), 10)
	}
}

// get writes a key, and how its item is read.
func (b *body) get(table string, key item.Primary, consistent bool) {
	b.String(`{"TableName":`, table)
	b.Add(`,"Key":`)
	b.Key(key)
	b.Add(consistency[consistent])
}

var consistency = map[bool]string{false: `,"ConsistentRead":false`, true: `,"ConsistentRead":true`}

// gets writes the reads of a transaction.
func (b *body) gets(keys []Key) {
	next := `{"TransactItems":[{"Get":{`
	for _, k := range keys {
		b.Add(next)
		b.String(`"TableName":`, k.Table)
		b.Add(`,"Key":`)
		b.Item(k.Key)
		b.Add(`}}`)
		next = `,{"Get":{`
	}
	b.Add(`]`)
}

// batchGets writes the keys of a batch, by table.
func (b *body) batchGets(keys map[string][]item.Primary, consistent bool) {
	next := `{"RequestItems":{`
	for _, table := range slices.Sorted(maps.Keys(keys)) {
		b.String(next, table)
		next = `:{"Keys":[`
		for _, key := range keys[table] {
			b.Add(next)
			b.Key(key)
			next = `,`
		}
		b.Add(`]`)
		b.Add(consistency[consistent])
		b.Add(`}`)
	}
	b.Add(`}`)
}

// batchWrites writes some of the writes of a batch, by table.
func (b *body) batchWrites(writes []BatchWrite, left []int, tables []string) {
	next := `{"RequestItems":{`
	for _, table := range tables {
		b.String(next, table)
		next = `:[`
		for _, k := range left {
			w := &writes[k]
			if w.Table != table {
				continue
			}
			b.Add(next)
			if w.Put != nil {
				b.Add(`{"PutRequest":{"Item":`)
				b.Item(w.Put)
			} else {
				b.Add(`{"DeleteRequest":{"Key":`)
				b.Item(w.Key)
			}
			b.Add(`}}`)
			next = `,`
		}
		b.Add(`]`)
	}
	b.Add(`}`)
}
