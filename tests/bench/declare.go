package main

import (
	"runtime"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Wide has 45 fields and all features of one item.
type Wide struct {
	_ entity.Key `name:"Wide" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_ entity.GSI `name:"byOwner" index:"gsi2" pk:"$#{owner}" sk:"$#{id}"`
	_ versioned.Lock
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`

	ID        string    `dynamodbav:"id"`
	Team      string    `dynamodbav:"team"`
	Owner     string    `dynamodbav:"owner" entity:"immutable"`
	Email     string    `dynamodbav:"email" entity:"required"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
	Removed   time.Time `dynamodbav:"removed,omitempty" entity:"deleted_at"`

	S1  string         `dynamodbav:"s1"`
	S2  string         `dynamodbav:"s2"`
	S3  string         `dynamodbav:"s3"`
	S4  string         `dynamodbav:"s4"`
	S5  string         `dynamodbav:"s5"`
	S6  string         `dynamodbav:"s6"`
	S7  string         `dynamodbav:"s7"`
	S8  string         `dynamodbav:"s8"`
	S9  string         `dynamodbav:"s9"`
	S10 string         `dynamodbav:"s10"`
	N1  int            `dynamodbav:"n1"`
	N2  int            `dynamodbav:"n2"`
	N3  int            `dynamodbav:"n3"`
	N4  int            `dynamodbav:"n4"`
	N5  int            `dynamodbav:"n5"`
	N6  int            `dynamodbav:"n6"`
	N7  int            `dynamodbav:"n7"`
	N8  int            `dynamodbav:"n8"`
	N9  int            `dynamodbav:"n9"`
	B1  bool           `dynamodbav:"b1"`
	B2  bool           `dynamodbav:"b2"`
	B3  bool           `dynamodbav:"b3"`
	B4  bool           `dynamodbav:"b4"`
	B5  bool           `dynamodbav:"b5"`
	T1  time.Time      `dynamodbav:"t1"`
	T2  time.Time      `dynamodbav:"t2"`
	T3  time.Time      `dynamodbav:"t3"`
	T4  time.Time      `dynamodbav:"t4"`
	L1  []string       `dynamodbav:"l1"`
	L2  []string       `dynamodbav:"l2"`
	L3  []string       `dynamodbav:"l3"`
	L4  []string       `dynamodbav:"l4"`
	M1  map[string]int `dynamodbav:"m1"`
	M2  map[string]int `dynamodbav:"m2"`
	M3  map[string]int `dynamodbav:"m3"`
	P1  *string        `dynamodbav:"p1"`
	P2  *string        `dynamodbav:"p2"`
}

// declarations are compiled with New, each in a DB of its own.
var declarations = []struct {
	name string
	make func(db *entity.DB) error
}{
	{"New of 10 fields", func(db *entity.DB) error { _, err := entity.New[Order](db); return err }},
	{"New of 45 fields with all features", func(db *entity.DB) error { _, err := entity.New[Wide](db); return err }},
}

// declare measures New: the least microseconds of all rounds, because nothing else is measured with it, and allocations.
func declare(rounds int) (map[string]ratio, error) {
	results := map[string]ratio{}
	for _, d := range declarations {
		for range rounds {
			const n = 100
			dbs := make([]*entity.DB, n)
			for i := range dbs {
				dbs[i] = entity.Must(entity.Open(nil, entity.Config{Table: "bench"}))
			}
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := cpuTime()
			for _, db := range dbs {
				if err := d.make(db); err != nil {
					return nil, err
				}
			}
			used := float64((cpuTime() - start).Nanoseconds()) / 1000 / n
			runtime.ReadMemStats(&after)
			if old, ok := results[d.name]; !ok || used < old.CPU {
				results[d.name] = ratio{used, float64(after.Mallocs-before.Mallocs) / n}
			}
		}
	}
	return results, nil
}
