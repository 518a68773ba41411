package declared

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

type (
	payment struct {
		_       entity.Key          `name:"Payment" pk:"$#{account}" sk:"$"`
		_       timeseries.Events   `orderBy:"at" id:"payment"`
		Account string              `dynamodbav:"account" entity:"subject"`
		At      time.Time           `dynamodbav:"at"`
		ID      string              `dynamodbav:"payment"`
		Payees  map[string]struct{} `dynamodbav:"payees,omitempty,stringset" entity:"append,subject"`
	}
	unpaid struct {
		_       entity.Key        `name:"Unpaid" pk:"$#{account}" sk:"$"`
		_       timeseries.Events `orderBy:"at" id:"payment"` // want `EDD-9019: id names the attribute "payment"`
		Account string            `dynamodbav:"account"`
		At      time.Time         `dynamodbav:"at"`
		Cents   int               `dynamodbav:"cents" entity:"append"`
	}
	weighed struct {
		_       entity.Key        `name:"Weighed" pk:"$#{account}" sk:"$"`
		_       timeseries.Events `orderBy:"at" id:"weight"` // want `EDD-9019: id names the attribute "weight"`
		Account string            `dynamodbav:"account"`
		At      time.Time         `dynamodbav:"at"`
		Weight  float64           `dynamodbav:"weight"`
		Owner   int               `dynamodbav:"owner" entity:"append,subject"`  // want `EDD-9035: subject needs a string`
		Tags    map[string]bool   `dynamodbav:"tags,stringset" entity:"append"` // want `EDD-9045: the option stringset does not fit`
	}
	current struct {
		_       entity.Key        `name:"Current" pk:"$#{account}" sk:"$"`
		_       timeseries.Events `orderBy:"at" current:"none" late:"record"` // want `EDD-9097: late is about`
		Account string            `dynamodbav:"account"`
		At      time.Time         `dynamodbav:"at"`
		Cents   int               `dynamodbav:"cents" entity:"append"`
	}
)
