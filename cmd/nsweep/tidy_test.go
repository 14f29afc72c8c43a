package main

import (
	"strings"
	"testing"

	"github.com/hibiken/asynq"

	"github.com/nsweep/nsweep/engine/hopping"
	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// TestEndedRunLeavesNoTasks: a run that is cancelled, deleted or begun afresh while
// no scheduler is at work leaves neither a list of tasks nor tasks in asynq; a
// paused one keeps both. Another run's tasks stay.
func TestEndedRunLeavesNoTasks(t *testing.T) {
	srv := redistest.Start(t)
	st, err := store.Open(t.Context(), store.Options{Addrs: []string{srv.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	client, inspector := asynq.NewClientFromRedisClient(st.Client()), asynq.NewInspectorFromRedisClient(st.Client())
	queue := jobs.NewTransport(client, inspector)
	info := hopping.New().Info()
	waiting := func(want int) {
		t.Helper()
		depth, err := queueDepth(inspector)
		if err != nil {
			t.Fatal(err)
		}
		if got := depth[jobs.QueueName(info.Name, info.Version, jobs.Normal)]; got != want {
			t.Errorf("%d tasks wait, want %d", got, want)
		}
	}
	const each = 20
	begin := func(name string) jobs.Run {
		t.Helper()
		set, err := jobs.NewSet(1, 50*each+1, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := jobs.Sweep{Name: "s", Engine: info.Name, Version: info.Version, Keep: jobs.KeepValues, Set: set, Grid: info.Grid}
		run, err := st.Create(t.Context(), jobs.Manifest{ID: jobs.RunID{Name: name}, Sweeps: []jobs.Sweep{w}})
		if err != nil {
			t.Fatal(err)
		}
		var tasks []jobs.Task
		for i := range int64(each) {
			tasks = append(tasks, jobs.Task{Format: jobs.TaskFormat, Run: run.ID, Sweep: "s", Engine: info.Name, Version: info.Version, Keep: jobs.KeepValues,
				Grid: info.Grid.Version, Lo: 50*i + 1, Hi: 50*i + 51})
		}
		if err := st.PutTasks(t.Context(), run.ID, tasks); err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			if err := queue.Enqueue(t.Context(), task); err != nil {
				t.Fatal(err)
			}
		}
		return run
	}
	nsweep := func(line string) {
		t.Helper()
		var out, errs strings.Builder
		code := execute(t.Context(), append(strings.Fields(line), "--redis", srv.URL()), streams{in: strings.NewReader(""), out: &out, err: &errs})
		if code != codeDone {
			t.Fatalf("nsweep %s: exit code %d, %s", line, code, errs.String())
		}
	}
	listed := func(id jobs.RunID, want int) {
		t.Helper()
		if list, err := st.Tasks(t.Context(), id); err != nil || len(list) != want {
			t.Errorf("%d tasks of %s are listed, %v; want %d", len(list), id.Name, err, want)
		}
	}
	other := begin("other")

	run := begin("one")
	waiting(2 * each)
	nsweep("pause one")
	waiting(2 * each)
	nsweep("cancel one")
	waiting(each)
	listed(run.ID, 0)

	run = begin("two")
	nsweep("delete two --yes")
	waiting(each)
	listed(run.ID, 0)

	run = begin("three")
	o := &opened{Store: st}
	if _, err := o.Replace(t.Context(), run.ID, jobs.Manifest{ID: jobs.RunID{Name: "three"}, Sweeps: run.Sweeps}); err != nil {
		t.Fatal(err)
	}
	waiting(each)
	listed(run.ID, 0)
	listed(other.ID, each)
}
