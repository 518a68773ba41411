package calls_test

import (
	"testing"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/schemalock"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Handles has each handle that entity.Bind opens.
type Handles struct {
	Plain  *entity.Store[Plain]
	Kept   *entity.Store[Kept]
	Lookup *unique.Lookup[Kept] `entity:"email"`
	Past   *versioned.History[Kept]
	Trash  *lifecycle.Deleted[Kept]
	Ticks  *timeseries.Series[Ticks]
	Leases *lease.Leases
	View   *timeline.View[string, int]
}

// functions are the exported functions by their names, instances of those with type parameters.
var functions = map[string][]any{
	"entity.New": {entity.New[Plain], entity.New[Kept], entity.New[Ticks]}, "entity.Open": {entity.Open},
	"entity.Bind": {entity.Bind[Handles], entity.Bind[Plain], entity.Bind[int]}, "entity.For": {entity.For[Plain]}, "entity.ClassOf": {entity.ClassOf},
	"entity.Fields": {entity.Fields[Plain], entity.Fields[int], entity.Fields[*Plain]}, "entity.Project": {entity.Project[Plain, Kept]},
	"entity.IsAmbiguous": {entity.IsAmbiguous}, "entity.StoredItem": {entity.StoredItem[Plain]}, "entity.FailureOf": {entity.FailureOf},
	"entity.Eq": {entity.Eq[int]}, "entity.Ne": {entity.Ne[int]}, "entity.Lt": {entity.Lt[int]}, "entity.Le": {entity.Le[int]}, "entity.Gt": {entity.Gt[int]},
	"entity.Ge": {entity.Ge[int]}, "entity.Between": {entity.Between[int]}, "entity.In": {entity.In[int]}, "entity.BeginsWith": {entity.BeginsWith[string]},
	"entity.Contains": {entity.Contains[[]string]}, "entity.ContainsKey": {entity.ContainsKey[map[string]struct{}]}, "entity.Exists": {entity.Exists[int]}, "entity.NotExists": {entity.NotExists[int]},
	"entity.And": {entity.And}, "entity.Or": {entity.Or}, "entity.Not": {entity.Not},
	"entity.Set": {entity.Set[int], entity.Set[any]}, "entity.SetIfNotExists": {entity.SetIfNotExists[int]}, "entity.Remove": {entity.Remove[int]}, "entity.Add": {entity.Add[int]},
	"entity.ListAppend": {entity.ListAppend[[]int]}, "entity.AddToSet": {entity.AddToSet[[]int]}, "entity.DeleteFromSet": {entity.DeleteFromSet[[]int]},
	"entity.AddKeys": {entity.AddKeys[map[string]struct{}]}, "entity.DeleteKeys": {entity.DeleteKeys[map[string]struct{}]},
	"entity.ListPrepend": {entity.ListPrepend[[]int]}, "entity.Returning": {entity.Returning[Plain]}, "entity.IfPresent": {entity.IfPresent}, "entity.Elem": {entity.Elem[[]int]}, "entity.Inside": {entity.Inside[int, Plain]},
	"entity.MapEntry": {entity.MapEntry[map[string]int]}, "entity.Attr": {entity.Attr[int]},
	"entity.Unconditional": {entity.Unconditional}, "entity.Consistent": {entity.Consistent}, "entity.Desc": {entity.Desc}, "entity.Idempotent": {entity.Idempotent},
	"entity.Filter": {entity.Filter}, "entity.If": {entity.If}, "entity.IncludeExpired": {entity.IncludeExpired}, "entity.KeepImage": {entity.KeepImage}, "entity.FromImage": {entity.FromImage}, "entity.Where": {entity.Where},
	"entity.Limit": {entity.Limit}, "entity.MaxEvaluated": {entity.MaxEvaluated}, "entity.MaxRequests": {entity.MaxRequests}, "entity.MaxDecisions": {entity.MaxDecisions}, "entity.Named": {entity.Named},
	"entity.OnProgress": {entity.OnProgress}, "entity.OnPage": {entity.OnPage}, "entity.Hydrate": {entity.Hydrate}, "entity.SkipUndecodable": {entity.SkipUndecodable}, "entity.Segments": {entity.Segments}, "entity.Segment": {entity.Segment}, "tables.AddIndexes": {tables.AddIndexes}, "tables.OnIndex": {tables.OnIndex}, "tables.Create": {tables.Create}, "tables.Verify": {tables.Verify}, "tables.Of": {tables.Of},
	"entity.Budget": {entity.Budget}, "entity.Tracers": {entity.Tracers}, "entity.SlogTracer": {entity.SlogTracer}, "entity.WithCallName": {entity.WithCallName},

	"timeseries.New": {timeseries.New[Ticks], timeseries.New[Plain]},
	"versioned.Of":   {versioned.Of[Kept], versioned.Of[Plain]}, "versioned.Expect": {versioned.Expect}, "versioned.AnyVersion": {versioned.AnyVersion},
	"versioned.WithCurrent": {versioned.WithCurrent},
	"lifecycle.Of":          {lifecycle.Of[Kept], lifecycle.Of[Plain]}, "lifecycle.After": {lifecycle.After}, "lifecycle.NoExpiry": {lifecycle.NoExpiry},
	"unique.Of": {unique.Of[Kept], unique.Of[Plain]},

	"lease.New": {lease.New}, "lease.With": {lease.With},

	"schemalock.Of": {schemalock.Of}, "schemalock.Parse": {schemalock.Parse}, "schemalock.Compare": {schemalock.Compare}, "schemalock.Verify": {schemalock.Verify},

	"timeline.New": {timeline.New[string, int]}, "timeline.Define": {timeline.Define[Handles, string, int]}, "timeline.NewLog": {timeline.NewLog}, "timeline.Merge": {timeline.Merge},
	"timeline.Series": {timeline.Series[Ticks]}, "timeline.Versions": {timeline.Versions[Kept]}, "timeline.Items": {timeline.Items[Plain, time.Time]}, "timeline.Feed": {timeline.Feed[int]},
	"timeline.On": {timeline.On[int, string, int]}, "timeline.Ensure": {timeline.Ensure[int, string, int]}, "timeline.AcceptedAt": {timeline.AcceptedAt[time.Time]},
	"timeline.Classify": {timeline.Classify[Plain]}, "timeline.Upgrade": {timeline.Upgrade[Plain, Kept]}, "timeline.PartitionKey": {timeline.PartitionKey[string, Plain]},
	"timeline.CheckpointEvery": {timeline.CheckpointEvery}, "timeline.OnProgress": {timeline.OnProgress}, "timeline.Resume": {timeline.Resume}, "timeline.Segments": {timeline.Segments}, "timeline.Export": {timeline.Export},
	"timeline.Budget": {timeline.Budget}, "timeline.ReadBudget": {timeline.ReadBudget},
	"timeline.ForKey": {timeline.ForKey[Plain]}, "timeline.Since": {timeline.Since}, "timeline.AsKnownAt": {timeline.AsKnownAt}, "timeline.AsOf": {timeline.AsOf},
	"timeline.Partial": {timeline.Partial}, "timeline.RequireComplete": {timeline.RequireComplete}, "timeline.AllowStale": {timeline.AllowStale}, "timeline.FullReplay": {timeline.FullReplay},

	"stream.Stored": {stream.Stored}, "stream.Of": {stream.Of[Plain]}, "stream.On": {stream.On[Plain]}, "stream.OnUndecodable": {stream.OnUndecodable}, "stream.OnUnrouted": {stream.OnUnrouted},
	"stream.Handle": {stream.Handle}, "stream.FromSDK": {stream.FromSDK}, "stream.FromKinesis": {stream.FromKinesis}, "stream.NewReader": {stream.NewReader},

	"entity.Upgrade": {entity.Upgrade[Plain, Plain]}, "migrate.Rewrite": {migrate.Rewrite}, "migrate.Check": {migrate.Check}, "migrate.DryRun": {migrate.DryRun}, "migrate.NewVersion": {migrate.NewVersion}, "migrate.Ends": {migrate.Ends},
	"migrate.Strict": {migrate.Strict}, "migrate.Checkpoint": {migrate.Checkpoint}, "migrate.Restart": {migrate.Restart}, "migrate.OnProgress": {migrate.OnProgress},
	"migrate.Copy": {migrate.Copy[Plain, Kept]}, "migrate.VerifyUnique": {migrate.VerifyUnique}, "migrate.RepairUnique": {migrate.RepairUnique}, "migrate.VerifyUniqueSegment": {migrate.VerifyUniqueSegment}, "migrate.ExamineUnique": {migrate.ExamineUnique},
}

// values are the zero values of the exported types that have methods.
var values = map[string]any{
	"entity.Store": entity.Store[Plain]{}, "entity.Ops": &entity.Ops[Plain]{}, "entity.Index": entity.Index[Plain]{}, "entity.DB": &entity.DB{}, "entity.Image": &entity.Image{},
	"entity.Path": entity.Path[int]{}, "entity.Class": entity.Class(""), "schemalock.ChangedError": &schemalock.ChangedError{}, "stream.StoredChange": stream.StoredChange{}, "entity.Cond": entity.Cond{}, "tables.Spec": tables.Spec{}, "tables.Table": tables.Table{}, "tables.Index": tables.Index{},
	"tables.Key": tables.Key{}, "tables.Attribute": tables.Attribute{}, "tables.Projection": tables.Projection{}, "entity.Throughput": entity.Throughput{},
	"entity.TableOptions": entity.TableOptions{}, "tables.Drift": tables.Drift{}, "tables.DriftKind": tables.DriftKind(""), "tables.Option": tables.Option{},
	"entity.Error": &entity.Error{}, "entity.SchemaError": &entity.SchemaError{}, "entity.InputError": &entity.InputError{}, "entity.ConditionError": &entity.ConditionError{},
	"entity.KeyCaseError": &entity.KeyCaseError{}, "entity.ValidationError": &entity.ValidationError{}, "entity.PrepareError": &entity.PrepareError{}, "entity.DecodeError": &entity.DecodeError{},
	"entity.TransactError": &entity.TransactError{}, "entity.OpError": entity.OpError{}, "tables.Error": &tables.Error{}, "tables.VerifyError": &tables.VerifyError{},
	"entity.UnprocessedError": &entity.UnprocessedError{}, "entity.Config": entity.Config{}, "entity.Namespace": entity.Namespace{},
	"entity.Page": entity.Page[Plain]{}, "entity.StringSet": entity.StringSet{}, "entity.NumberSet": entity.NumberSet{}, "entity.Report": entity.Report{}, "entity.Token": entity.Token{}, "entity.ScanProgress": entity.ScanProgress{}, "tables.IndexProgress": tables.IndexProgress{},
	"entity.Erased": entity.Erased{}, "entity.CursorError": &entity.CursorError{}, "entity.CursorReason": entity.CursorReason(""), "entity.IndexError": &entity.IndexError{},
	"entity.Call": entity.Call{}, "entity.Attempt": entity.Attempt{}, "entity.Failure": &entity.Failure{}, "entity.SlogOptions": entity.SlogOptions{}, "entity.UnitBudget": &entity.UnitBudget{},
	"entity.Key": entity.Key{}, "entity.GSI": entity.GSI{}, "entity.LSI": entity.LSI{},

	"timeseries.Series": timeseries.Series[Ticks]{}, "timeseries.Ops": &timeseries.Ops[Ticks]{}, "timeseries.Events": timeseries.Events{}, "timeseries.Result": timeseries.Result[Ticks]{},
	"timeseries.Reason": timeseries.Reason(""), "timeseries.NotAppliedError": &timeseries.NotAppliedError{},
	"versioned.History": versioned.History[Kept]{}, "versioned.Ops": &versioned.Ops[Kept]{}, "versioned.Lock": versioned.Lock{}, "versioned.Retain": versioned.Retain{},
	"versioned.Version": versioned.Version[Kept]{}, "versioned.FieldChange": versioned.FieldChange{}, "versioned.ConflictError": &versioned.ConflictError{},
	"lifecycle.Deleted": lifecycle.Deleted[Kept]{}, "lifecycle.Index": lifecycle.Index[Kept]{}, "lifecycle.Ops": &lifecycle.Ops[Kept]{}, "lifecycle.DeletedItem": lifecycle.DeletedItem[Kept]{}, "lifecycle.SoftDelete": lifecycle.SoftDelete{}, "lifecycle.TTL": lifecycle.TTL{},
	"unique.Lookup": unique.Lookup[Kept]{}, "unique.Constraint": unique.Constraint{}, "unique.Owner": unique.Owner{},
	"unique.ViolationError": &unique.ViolationError{},

	"lease.Leases": &lease.Leases{}, "lease.Held": &lease.Held{}, "lease.Term": lease.Term{}, "lease.Options": lease.Options{}, "lease.TakenError": &lease.TakenError{}, "lease.SkewError": &lease.SkewError{},

	"schemalock.Lock": schemalock.Lock{}, "schemalock.Change": schemalock.Change{}, "schemalock.Entity": schemalock.Entity{}, "schemalock.Fact": schemalock.Fact{},
	"schemalock.FormatError": &schemalock.FormatError{},

	"timeline.View": timeline.View[string, int]{}, "timeline.LogView": timeline.LogView{}, "timeline.Projection": timeline.Projection[string, int]{}, "timeline.Log": timeline.Log{},
	"timeline.Handler": timeline.Handler[string, int]{}, "timeline.Event": timeline.Event[int]{}, "timeline.Row": timeline.Row[string, int]{}, "timeline.Page": timeline.Page[int]{},
	"timeline.Meta": timeline.Meta{}, "timeline.Counters": timeline.Counters{}, "timeline.Stage": timeline.Stage(""), "timeline.Status": timeline.Status(""), "timeline.Failure": timeline.Failure{},
	"timeline.Explanation": timeline.Explanation{}, "timeline.SourceEstimate": timeline.SourceEstimate{}, "timeline.EventError": &timeline.EventError{}, "timeline.BuildingError": &timeline.BuildingError{},
	"timeline.ApplyResult": timeline.ApplyResult{}, "timeline.ApplyError": &timeline.ApplyError{},
	"timeline.HistoryExpiredError": &timeline.HistoryExpiredError{}, "timeline.LimitError": &timeline.LimitError{}, "timeline.ExportError": &timeline.ExportError{}, "timeline.StaleError": &timeline.StaleError{},
	"timeline.Job": &timeline.Job{}, "timeline.JobWorker": &timeline.JobWorker{}, "timeline.JobPart": timeline.JobPart{}, "timeline.JobRecord": timeline.JobRecord{}, "timeline.JobRow": &timeline.JobRow{},

	"stream.Change": stream.Change[Plain]{}, "stream.Event": stream.Event{}, "stream.Record": stream.Record{}, "stream.Response": stream.Response{}, "stream.Route": stream.Route{},
	"stream.Failure": stream.Failure{}, "stream.BatchItemFailure": stream.BatchItemFailure{}, "stream.Kind": stream.Kind(""), "stream.RecordError": &stream.RecordError{}, "stream.ImageError": &stream.ImageError{},
	"stream.Reader": &stream.Reader{}, "stream.ReaderOptions": stream.ReaderOptions{}, "stream.LostError": &stream.LostError{},

	"entity.UpgradeError": &entity.UpgradeError{}, "migrate.Report": migrate.Report{}, "migrate.Cost": migrate.Cost{}, "migrate.Example": migrate.Example{}, "migrate.Progress": migrate.Progress{},
	"migrate.Reason": migrate.Reason(""), "migrate.Kind": migrate.Kind(""), "migrate.Finding": migrate.Finding{}, "migrate.Checked": migrate.Checked{}, "migrate.Problem": migrate.Problem(""), "migrate.RunningError": &migrate.RunningError{}, "migrate.CheckpointError": &migrate.CheckpointError{},
	"migrate.ItemError": &migrate.ItemError{}, "migrate.UnsettledError": &migrate.UnsettledError{}, "migrate.UniqueFinding": migrate.UniqueFinding{}, "migrate.UniqueRepair": migrate.UniqueRepair{}, "migrate.UniqueReport": migrate.UniqueReport{}, "migrate.Suspect": migrate.Suspect{}, "migrate.State": migrate.State(""), "migrate.Copier": &migrate.Copier[Plain, Kept]{},
}

// exempt says what cannot be called with nothing, and why.
var exempt = map[string]string{
	"lease.Over": "for packages of this module", "lease.AcquireIn": "for packages of this module", "lease.After": "for packages of this module", "lease.Record": "an interface",
	"migrate.Store": "an interface", "migrate.Option": "an interface", "migrate.CopyOption": "an interface", "migrate.PassOption": "an interface", "migrate.Lookup": "an interface", "entity.Must": "panics on an error", "schemalock.Check": "needs a test; it is called below", "schemalock.TB": "an interface", "timeline.Entry": "an Event",
	"timeline.LogOption": "a RowsOption", "timeline.Source": "an interface", "timeline.Change": "an interface", "entity.Source": "an interface", "stream.Client": "an interface", "timeline.BuildOption": "a function", "timeline.RowsOption": "a function",
	"timeline.SourceOption": "a function", "entity.Client": "an interface", "entity.Validator": "an interface", "entity.Preparer": "an interface", "entity.Codec": "a number", "entity.Tracer": "an interface",
	"entity.Op": "an interface", "entity.Write": "an interface", "entity.Query": "an interface", "entity.MultiRegion": "a number", "entity.GetOp": "an interface", "entity.BatchOp": "an interface", "entity.CollectionPart": "an interface",
	"entity.ReadOption": "an interface", "entity.QueryOption": "an interface", "entity.WriteOption": "an interface", "entity.DeleteOption": "an interface", "entity.UpdateOption": "an interface", "entity.StoreOption": "an interface",
	"entity.BatchOption": "an interface", "entity.PurgeOption": "an interface", "entity.DecideOption": "an interface", "timeseries.AppendOption": "an interface", "versioned.ListOption": "an interface", "lifecycle.RestoreOption": "an interface", "lifecycle.ListOption": "an interface",
	"entity.ManyOption": "an interface", "entity.BoundOption": "an interface", "entity.IndexOption": "an interface", "entity.OrderOption": "an interface", "entity.TableOption": "an interface",
	"entity.SegmentOption": "an interface", "entity.GuardOption": "an interface", "entity.BindOption": "an interface", "entity.Handle": "an interface", "versioned.ExpectOption": "an interface",
	"entity.GetOption": "an interface", "entity.ScanOption": "an interface", "entity.CreateOption": "an interface", "entity.ChangeOption": "an interface",
}

// opened are handles of a database without a client, which are called with nothing too.
func opened(t *testing.T) map[string]any {
	t.Helper()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	plain, kept := entity.Must(entity.New[Plain](db)), entity.Must(entity.New[Kept](db))
	series := entity.Must(timeseries.New[Ticks](db))
	history, bin, lookup := entity.Must(versioned.Of(kept)), entity.Must(lifecycle.Of(kept)), entity.Must(unique.Of(kept, "email"))
	source := timeline.Items(entity.Must(entity.New[Stamped](db)), &entity.Fields[Stamped]().Updated)
	view := entity.Must(timeline.New(db, timeline.Projection[string, int]{
		Name: "View", Version: 1, Source: source,
		Handlers: []timeline.Handler[string, int]{timeline.On("stamped.stored", func(e Stamped) string { return e.ID }, func(n *int, _ timeline.Event[Stamped]) error { *n++; return nil })},
	}))
	log := entity.Must(timeline.NewLog(db, timeline.Log{Name: "Log", Source: source}))
	return map[string]any{
		"db": db, "store": plain, "ops": plain.Op(), "kept": kept, "series": series, "series ops": series.Op(), "history": history, "history ops": history.Op(),
		"leases": entity.Must(lease.New(db, lease.Options{})), "bin": bin, "bin ops": bin.Op(), "lookup": lookup, "view": view, "log": log,
	}
}
