package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/recorded"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// masker replaces secrets by pseudonyms. Equal values of one kind have equal pseudonyms in one dump, and different values have
// different ones, also in keys that are in lower case. A pseudonym decodes wherever its value does.
type masker struct {
	m        *model
	salt     []byte
	letters  string // of the pseudonyms of texts, all lower case
	kinds    map[*entityModel]map[string]disguise
	whole    [2][]uint64 // bounds of the magnitudes of whole numbers, of negative ones in whole[1]; a number and its pseudonym are between the same two
	instants []uint64    // bounds of the seconds since the year 0, in the same way

	dropped    map[string]int // attributes without pseudonyms, as Entity.attribute, and how many values were left out
	undeclared int            // values of undeclared attributes that were left out
}

// A disguise says how values of an attribute are replaced.
type disguise int

const (
	leftOut disguise = iota // a value of a type that has no pseudonyms
	asText
	asWhole
	asFloat32
	asFloat64
	asDecimal
	asTime // text
	asUnix
	asUnixMilli
	asBinary
)

// disguiseOf returns how the values of an attribute with these words in the lock are replaced. What a type makes of itself, as
// text or otherwise, is unknown.
func disguiseOf(words []string) disguise {
	kinds := map[string]disguise{
		"time=unix": asUnix, "time=unixms": asUnixMilli, "text": leftOut, "custom": leftOut, "float32": asFloat32, "float64": asFloat64, "decimal": asDecimal,
	}
	kind := map[string]disguise{"S": asText, "B": asBinary}[strings.Join(words[:min(len(words), 1)], "")]
	for _, word := range words {
		if is, ok := kinds[word]; ok {
			return is
		}
		if strings.HasPrefix(word, "time=") {
			return asTime
		}
		if strings.HasPrefix(word, "int") || strings.HasPrefix(word, "uint") { // a format of a time follows it
			kind = asWhole
		}
	}
	return kind
}

// newMasker returns the masker of one dump. salt is that of a test, nil for a random one.
func newMasker(m *model, salt []byte) *masker {
	k := &masker{m: m, salt: salt, letters: "abcdefghijklmnopqrstuvwxyz", kinds: map[*entityModel]map[string]disguise{}, dropped: map[string]int{}}
	if salt == nil {
		k.salt = []byte(rand.Text())
	}
	k.whole = [2][]uint64{{0, 1, 1 << 63}, {0, 1, 1<<63 + 1}}
	for _, second := range []int64{firstSecond, zeroSecond, zeroSecond + 1, 0, 1, lastSecond + 1} {
		k.instants = append(k.instants, uint64(second-firstSecond))
	}
	for _, e := range m.entities {
		k.kinds[e] = map[string]disguise{}
		for _, a := range e.s.Attrs {
			if !a.IsSecret() {
				continue
			}
			words := strings.Fields(e.setting("attribute " + recorded.PathName(a.Name)))
			k.kinds[e][a.Name] = disguiseOf(words)
			for _, word := range words {
				k.bound(word)
			}
		}
		for _, t := range e.templates() {
			k.fit(e, t)
		}
	}
	for _, bounds := range [][]uint64{k.whole[0], k.whole[1], k.instants} {
		slices.Sort(bounds)
	}
	return k
}

// The seconds since 1970 of the first and last time that can be stored, and of Go's zero time.
const (
	firstSecond = -62167219200
	zeroSecond  = -62135596800
	lastSecond  = 253402300799
)

// bound notes the range of a type of numbers.
func (k *masker) bound(word string) {
	signed, unsigned := strings.CutPrefix(word, "uint")
	if !unsigned {
		signed = strings.TrimPrefix(word, "int")
	}
	n, err := strconv.Atoi(signed)
	switch {
	case err != nil || signed == word || n > 63:
	case unsigned:
		k.whole[0] = append(k.whole[0], 1<<n)
	default:
		k.whole[0] = append(k.whole[0], 1<<(n-1))
		k.whole[1] = append(k.whole[1], 1<<(n-1)+1)
	}
}

// templates returns the templates of all keys of an entity.
func (e *entityModel) templates() []*key.Template {
	var all []*key.Template
	for _, d := range slices.Concat(e.s.Keys(), e.s.RelatedKeys) {
		if d.Written() {
			all = append(all, d.Template)
		}
	}
	for _, c := range e.uniques {
		all = append(all, c.key)
	}
	return all
}

// fit makes the pseudonyms of the parts of a key fit its template: their digits, and the literals that end them.
func (k *masker) fit(e *entityModel, t *key.Template) {
	for i, s := range t.Segments {
		if s.Field == nil {
			continue
		}
		if _, hides := k.kinds[e][s.Field.Attr]; !hides {
			continue
		}
		if w := s.Field.Width; w > 0 && w < 19 {
			most := int64(math.Pow10(w))
			k.whole[0] = append(k.whole[0], uint64(most))
			if s.Field.Time == key.UnixMilli {
				most = max(most/1000, 1)
			}
			k.instants = append(k.instants, uint64(min(most, lastSecond+1)-firstSecond))
		}
		for _, next := range t.Segments[i+1:] {
			if next.Literal != "" && !t.Escaped { // no pseudonym has the first letter of what follows
				k.letters = strings.ReplaceAll(k.letters, strings.ToLower(next.Literal[:1]), "")
			}
			if next.Literal != "" || next.Field != nil {
				break
			}
		}
	}
}

// refused returns an *entity.InputError that names the secrets that make it impossible to dump an entity.
func (k *masker) refused(entities []*entityModel) error {
	var all []string
	for _, e := range entities {
		for _, name := range slices.Sorted(maps.Keys(k.kinds[e])) {
			if why := k.obstacle(e, name); why != "" {
				all = append(all, e.s.Name+"."+item.Text(name)+" "+why)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return invalid(bind.CodeConsoleName, "secrets that a dump cannot disguise: %s; name the entities to dump without them", strings.Join(all, "; "))
}

// obstacle returns why a secret cannot be disguised in a table that is as declared; "" if it can.
func (k *masker) obstacle(e *entityModel, name string) string {
	part := func(t *key.Template) bool {
		return slices.ContainsFunc(t.Fields(), func(f *key.Field) bool { return f.Attr == name })
	}
	keyed := slices.ContainsFunc(e.templates(), part)
	for _, d := range e.s.Keys() {
		keyed = keyed || slices.Contains(d.Attributes(), name)
	}
	switch a := e.s.Attr(name); {
	case a.Owned() && a.Role.Context == "": // what a context gives is in the item alone
		return "is set by the library, which stores it elsewhere too"
	case slices.Contains(e.order, name):
		return "is the order of the events"
	case name == e.s.Options.TTL || name == e.setting("lifecycle.TTL from"):
		return "shows in the time at which items expire"
	case keyed && k.kinds[e][name] == leftOut:
		return "is part of a key, and of a type without pseudonyms"
	}
	return ""
}

// mask returns an item without secrets, and false if it is not as declared, so that its keys cannot be made.
func (k *masker) mask(x stored) (item.Item, bool) {
	e, out := x.model, item.Clone(x.raw)
	for name, av := range x.raw {
		kind, hides := k.kinds[e][name]
		switch {
		case hides && kind == leftOut && item.TypeName(av) == "BOOL":
			out[name] = &types.AttributeValueMemberBOOL{}
			k.dropped[e.s.Name+"."+item.Text(name)]++
		case hides:
			masked, ok := k.value(kind, av)
			if out[name] = masked; !ok {
				delete(out, name)
				k.dropped[e.s.Name+"."+item.Text(name)]++
			}
		case e.undeclared(name) && k.m.mayHaveSecrets(e):
			delete(out, name)
			k.undeclared++
		}
	}
	fits := k.keys(x, out)
	for _, name := range e.s.KeyNames() {
		fits = fits && out[name] != nil
	}
	return out, fits && bind.CheckSize(e.s, item.Size(out)) == nil
}

// keys replaces the secrets in the keys of an item, whose attributes in out are replaced.
func (k *masker) keys(x stored, out item.Item) bool {
	e := x.model
	if x.Kind == KindSentinel {
		i := slices.IndexFunc(e.uniques, func(c constraint) bool { return c.name == x.Of })
		return i >= 0 && k.text(e, e.uniques[i].key, x, out, e.s.PK.Attribute(), "") &&
			k.owner(e.s.PK, x, out, schema.OwnerPKAttr) && k.owner(e.s.SK, x, out, schema.OwnerSKAttr)
	}
	partition := "" // what the partition of an event adds to that of its series
	for _, d := range e.s.Keys() {
		if _, has := x.raw[d.Attr]; !has || !d.Written() {
			continue
		}
		suffix := ""
		if d == e.s.PK || d == e.s.SK { // a related item adds to the key of its current item
			own, _ := x.owner[d.Attr].(*types.AttributeValueMemberS)
			text, _ := x.raw[d.Attr].(*types.AttributeValueMemberS)
			if own != nil && text != nil {
				suffix = strings.TrimPrefix(text.Value, own.Value)
			}
		}
		if d == e.s.PK {
			partition = suffix
		}
		if !k.text(e, d.Template, x, out, d.Attr, suffix) {
			return false
		}
	}
	if pk, ok := out[e.s.PK.Attribute()].(*types.AttributeValueMemberS); ok && partition != "" { // it follows from the sort key
		sortKey, _ := layout.SortKey(e.s, out)
		series := item.Item{e.s.PK.Attr: item.S(strings.TrimSuffix(pk.Value, partition))}
		out[e.s.PK.Attr] = layout.EventKey(e.s, series, sortKey)[e.s.PK.Attr]
	}
	return true
}

// owner replaces the secrets in the key of an item in its sentinel.
func (k *masker) owner(d *schema.KeyDef, x stored, out item.Item, attr string) bool {
	if d == nil || d.Written() {
		return d == nil || k.text(x.model, d.Template, x, out, attr, "")
	}
	kind, hides := k.kinds[x.model][d.Attribute()]
	if !hides {
		return true
	}
	masked, ok := k.value(kind, x.raw[attr])
	out[attr] = masked
	return ok
}

// text replaces the secret parts of a key, which is in attr, without its suffix. It takes them from the attributes of the item if
// the key is made of these, and else from the key.
func (k *masker) text(e *entityModel, t *key.Template, x stored, out item.Item, attr, suffix string) bool {
	hides := func(f *key.Field) bool { _, hides := k.kinds[e][f.Attr]; return hides }
	secret := slices.ContainsFunc(t.Fields(), hides)
	if !secret && t.Shards == nil {
		return true
	}
	av, _ := x.raw[attr].(*types.AttributeValueMemberS)
	if av == nil {
		return false
	}
	text := strings.TrimSuffix(av.Value, suffix)
	set := func(masked string) bool {
		out[attr] = item.S(masked + suffix)
		return len(masked+suffix) <= key.MaxSortKey || attr == e.s.PK.Attribute() && len(masked+suffix) <= key.MaxPartitionKey
	}
	if composed, missing, err := t.Compose(x.raw); err == nil && len(missing) == 0 && composed == text {
		masked, missing, err := t.Compose(out)
		return err == nil && len(missing) == 0 && set(masked)
	}
	if composed, whole := t.AsStored(x.raw); whole && e.s.Profile.SharesSentinels() && composed == text {
		masked, whole := t.AsStored(out)
		return whole && set(masked)
	}
	if !secret { // it is not in the shard that its primary key decides
		return true
	}
	vs, err := t.Parse(text)
	if err != nil {
		return false
	}
	for i, f := range t.Fields() {
		if !hides(f) {
			continue
		}
		av, err := f.Attribute(vs[i])
		if err != nil {
			return false
		}
		masked, ok := k.value(k.kinds[e][f.Attr], av)
		if !ok {
			return false
		}
		if vs[i], ok, err = f.FromAttribute(masked); err != nil || !ok {
			return false
		}
	}
	masked, err := t.ComposeValues(vs)
	if t.Shards != nil {
		masked += strings.TrimPrefix(text, key.CutShard(text))
	}
	return err == nil && set(masked)
}

// value replaces a value. It returns false for one without a pseudonym: of another type than declared, or not in its usual form.
func (k *masker) value(kind disguise, av types.AttributeValue) (types.AttributeValue, bool) {
	switch v := av.(type) {
	case *types.AttributeValueMemberNULL:
		return v, true
	case *types.AttributeValueMemberS:
		text, ok := k.pseudonym(kind, v.Value)
		return item.S(text), ok && kind != asBinary
	case *types.AttributeValueMemberN:
		text, ok := k.pseudonym(kind, v.Value)
		return item.N(text), ok && kind != asText && kind != asTime
	case *types.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: k.binary(v.Value)}, kind == asBinary
	}
	return nil, false
}

// pseudonym replaces a text or the text of a number. Empty and zero values stay, since they mean that no value is given.
func (k *masker) pseudonym(kind disguise, text string) (string, bool) {
	switch kind {
	case asText:
		return k.word(text), true
	case asFloat32:
		return k.float(text, 32, 1, uint64(math.Float32bits(math.MaxFloat32)))
	case asFloat64:
		return k.float(text, 64, math.Float64bits(1e-130), math.Float64bits(9.99e125)) // what DynamoDB stores
	case asDecimal:
		return k.decimal(text)
	case asTime:
		t, err := key.Nano.Parse(text)
		if err != nil {
			return "", false
		}
		fraction := ""
		if at := strings.IndexByte(text, '.'); at >= 0 {
			digits := text[at+1:]
			fraction = "." + digits[:strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' })]
		}
		return time.Unix(k.second(t.Unix()), 0).UTC().Format("2006-01-02T15:04:05") + fraction + "Z", true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	unsigned, tooBig := strconv.ParseUint(text, 10, 64)
	switch _, fits := key.UnixMilli.Time(n); {
	case err != nil && (kind != asWhole || tooBig != nil), err == nil && strconv.FormatInt(n, 10) != text:
		return "", false
	case kind == asWhole && n < 0:
		return "-" + strconv.FormatUint(k.within("negative", k.whole[1], -uint64(n)), 10), true
	case kind == asWhole && err == nil:
		return strconv.FormatUint(k.within("whole", k.whole[0], uint64(n)), 10), true
	case kind == asWhole:
		return strconv.FormatUint(k.within("whole", k.whole[0], unsigned), 10), true
	case kind == asUnix && n >= firstSecond && n <= lastSecond:
		return strconv.FormatInt(k.second(n), 10), true
	case kind == asUnixMilli && fits:
		t := time.UnixMilli(n)
		return strconv.FormatInt(k.second(t.Unix())*1000+int64(t.Nanosecond())/1e6, 10), true
	}
	return "", false
}

// word returns the pseudonym of a text. Its letters follow from the text in lower case, and their case from the case of the text. So
// the pseudonym of a text in lower case is that of the text, in lower case.
func (k *masker) word(text string) string {
	if text == "" {
		return ""
	}
	lower := strings.ToLower(text)
	sum, cases := k.digest("text", lower), k.digest("case", text)
	word := make([]byte, 48)
	for i := range word {
		word[i] = k.letters[int(sum[i/2]>>(4*(i%2))&15)%len(k.letters)]
		if text != lower && cases[i/8]>>(i%8)&1 == 1 {
			word[i] -= 'a' - 'A'
		}
	}
	return string(word)
}

// float replaces a number by one of the same sign between two others, given by their bits.
func (k *masker) float(text string, size int, low, high uint64) (string, bool) {
	f, err := strconv.ParseFloat(text, size)
	if err != nil {
		return "", false
	}
	exact, err1 := item.ParseDecimal(text)
	same, err2 := item.ParseDecimal(strconv.FormatFloat(f, 'e', -1, size))
	if err1 != nil || err2 != nil || exact.String() != same.String() { // two of these could be one float
		return "", false
	}
	if f == 0 {
		return text, true
	}
	n := math.Float64bits(math.Abs(f))
	if size == 32 {
		n = uint64(math.Float32bits(float32(math.Abs(f))))
	}
	if n < low || n > high {
		return "", false
	}
	n = low + k.permuted(fmt.Sprint("float", size, f < 0), n-low, high-low+1)
	masked := math.Float64frombits(n)
	if size == 32 {
		masked = float64(math.Float32frombits(uint32(n)))
	}
	return strconv.FormatFloat(math.Copysign(masked, f), 'e', -1, size), true
}

// decimal replaces a number of up to 38 digits.
func (k *masker) decimal(text string) (string, bool) {
	d, err := item.ParseDecimal(text)
	if err != nil || d.String() == "0" {
		return text, err == nil
	}
	sum := k.digest("decimal", d.String())
	least := new(big.Int).Exp(big.NewInt(10), big.NewInt(36), nil)
	n := new(big.Int).Mod(new(big.Int).SetBytes(sum[:]), new(big.Int).Mul(big.NewInt(9), least))
	sign := ""
	if strings.HasPrefix(d.String(), "-") {
		sign = "-"
	}
	return sign + n.Add(n, least).String(), true
}

// second replaces a time, in seconds since 1970.
func (k *masker) second(n int64) int64 {
	return int64(k.within("time", k.instants, uint64(n-firstSecond))) + firstSecond
}

// binary replaces bytes by as many others: each half is changed by the other in turn.
func (k *masker) binary(b []byte) []byte {
	if len(b) == 1 {
		return []byte{byte(k.permuted("byte", uint64(b[0]), 256))}
	}
	out := slices.Clone(b)
	for round := range 10 {
		from, to := out[:len(out)/2], out[len(out)/2:]
		if round%2 == 1 {
			from, to = to, from
		}
		for at := 0; at < len(to); at += sha256.Size {
			sum := k.digest(fmt.Sprint("binary", len(b), round, at), string(from))
			part := to[at:min(at+sha256.Size, len(to))]
			subtle.XORBytes(part, part, sum[:])
		}
	}
	return out
}

// within replaces a number by another between the same two bounds.
func (k *masker) within(of string, bounds []uint64, n uint64) uint64 {
	i := sort.Search(len(bounds), func(i int) bool { return bounds[i] > n })
	low, size := bounds[i-1], -bounds[i-1] // up to the greatest number
	if i < len(bounds) {
		size = bounds[i] - low
	}
	return low + k.permuted(fmt.Sprint(of, low), n-low, size)
}

// permuted returns the place of n in a permutation of the numbers below size, which the salt and a name choose.
func (k *masker) permuted(of string, n, size uint64) uint64 {
	half := (bits.Len64(size-1) + 1) / 2
	if half == 0 {
		return n
	}
	mask := uint64(1)<<half - 1
	for {
		left, right := n>>half, n&mask
		for round := range 10 {
			sum := k.digest(of, fmt.Sprint(round, " ", right))
			left, right = right, left^binary.BigEndian.Uint64(sum[:])&mask
		}
		if n = left<<half | right; n < size {
			return n
		}
	}
}

// digest returns the keyed hash of a text, for a purpose.
func (k *masker) digest(purpose, text string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, k.salt)
	h.Write([]byte(purpose + "\x00" + text))
	h.Sum(sum[:0])
	return sum
}
