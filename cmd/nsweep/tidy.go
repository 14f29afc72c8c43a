package main

import (
	"context"
	"sync"

	"github.com/hibiken/asynq"

	"github.com/nsweep/nsweep/jobs"
)

// A user's command or button can end a run that no scheduler looks after. These
// methods of the store that commands and the page use leave nothing of such a run
// in asynq's queues. Workers would skip it, but only when there are some.

// SetState is the store's.
func (o *opened) SetState(ctx context.Context, id jobs.RunID, from []jobs.State, to jobs.State, reason string) error {
	end := func() error { return o.Store.SetState(ctx, id, from, to, reason) }
	if to.Accepts() {
		return end()
	}
	return o.tidied(ctx, id, end)
}

// Delete is the store's.
func (o *opened) Delete(ctx context.Context, id jobs.RunID) error {
	return o.tidied(ctx, id, func() error { return o.Store.Delete(ctx, id) })
}

// Replace is the store's.
func (o *opened) Replace(ctx context.Context, old jobs.RunID, m jobs.Manifest) (run jobs.Run, err error) {
	err = o.tidied(ctx, old, func() error { run, err = o.Store.Replace(ctx, old, m); return err })
	return run, err
}

// withdrawers is how many tasks are taken off the queues at a time.
const withdrawers = 8

// tidied ends a run and takes those of its tasks that wait off asynq's queues.
func (o *opened) tidied(ctx context.Context, id jobs.RunID, end func() error) error {
	tasks, _ := o.Tasks(ctx, id) // what cannot be read stays where it is
	if err := end(); err != nil {
		return err
	}
	queue := jobs.NewTransport(nil, asynq.NewInspectorFromRedisClient(o.Client()))
	next := make(chan jobs.Task)
	var all sync.WaitGroup
	for range min(withdrawers, len(tasks)) {
		all.Go(func() {
			for t := range next {
				_ = queue.Withdraw(t) // a worker skips it
			}
		})
	}
	for _, t := range tasks {
		if ctx.Err() != nil {
			break
		}
		next <- t
	}
	close(next)
	all.Wait()
	return nil
}
