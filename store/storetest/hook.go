package storetest

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// stepHook does something before one of the commands that are sent, or counts
// them. A pipeline is one.
type stepHook struct {
	left  int
	do    func()
	steps *int
}

// count adds what is sent from now on to steps, if that is not nil.
func (h *stepHook) count(steps *int) { h.steps = steps }

// before has do called when step commands have been sent from now on.
func (h *stepHook) before(step int, do func()) { h.left, h.do = step, do }

// pending reports whether it was not called, and gives it up.
func (h *stepHook) pending() bool {
	was := h.do != nil
	h.do = nil
	return was
}

func (h *stepHook) step() {
	if h.steps != nil {
		*h.steps++
	}
	if h.do == nil {
		return
	}
	if h.left--; h.left < 0 {
		do := h.do
		h.do = nil // its own commands do not count
		do()
	}
}

// DialHook implements redis.Hook.
func (h *stepHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h *stepHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.step()
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h *stepHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.step()
		return next(ctx, cmds)
	}
}
