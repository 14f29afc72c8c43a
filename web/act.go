package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/nsweep/nsweep/jobs"
)

// action is what a button does.
type action struct {
	Name, Label string
	// Ask and Tell stand in the dialog.
	Ask, Tell string
	// Danger marks what is not undone by another button.
	Danger bool
	from   []jobs.State
	to     jobs.State
}

var actions = []action{
	{Name: "pause", Label: "Pause", Ask: "Pause this run?",
		Tell: "No more work is given out. Tasks under way are finished and stored.",
		from: []jobs.State{jobs.Running}, to: jobs.Paused},
	{Name: "resume", Label: "Resume", Ask: "Resume this run?",
		Tell: "Work is given out again, where a scheduler or “nsweep run” is there to do it.",
		from: []jobs.State{jobs.Paused}, to: jobs.Running},
	{Name: "retry", Label: "Retry failed", Ask: "Try the failed cells again?",
		Tell: "What failed is forgotten and the run goes on with those cells. Nothing else is computed again.",
		from: []jobs.State{jobs.Running, jobs.Paused, jobs.Failed}, to: jobs.Running},
	{Name: "cancel", Label: "Cancel", Ask: "Cancel this run?", Danger: true,
		Tell: "The run ends. What is stored is kept, and nothing more is accepted until the experiment is run or submitted again.",
		from: []jobs.State{jobs.Running, jobs.Paused, jobs.Failed, jobs.Halted}, to: jobs.Cancelled},
}

func actionNamed(name string) (action, bool) {
	for _, a := range actions {
		if a.Name == name {
			return a, true
		}
	}
	return action{}, false
}

// Fits reports whether the action makes sense for a run.
func (a action) Fits(v *RunView) bool {
	if a.Name == "retry" && len(v.Failures) == 0 {
		return false
	}
	for _, f := range a.from {
		if f == v.State {
			return true
		}
	}
	return false
}

// Actions are the buttons of a run's page.
func (d partData) Actions() []action {
	var out []action
	if d.ReadOnly || d.R == nil {
		return out
	}
	for _, a := range actions {
		if a.Fits(d.R) {
			out = append(out, a)
		}
	}
	return out
}

// asked is what the page of a confirmation shows.
type asked struct {
	action
	Run string
}

// confirmPage asks before anything is done, where there is no script to ask.
func (s *Server) confirmPage(w http.ResponseWriter, r *http.Request) {
	a, ok := actionNamed(r.PathValue("action"))
	if !ok || s.o.ReadOnly {
		s.fail(w, r, http.StatusNotFound, "There is no such button.")
		return
	}
	_, v := s.find(w, r)
	if v == nil {
		return
	}
	s.render(w, r, http.StatusOK, "confirm", page{Title: a.Label + " " + v.ID.Name, R: v, Extra: asked{a, v.ID.Name}})
}

// act does what a button says. The form carries what only this session's pages
// hold, and the epoch that was on the page: a run that was started afresh
// meanwhile is another one.
func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	a, ok := actionNamed(r.PathValue("action"))
	if !ok || s.o.ReadOnly {
		s.fail(w, r, http.StatusNotFound, "There is no such button.")
		return
	}
	if !s.form(w, r) {
		return
	}
	if !s.guard.genuine(s.guard.session(r), r.PostForm.Get("csrf")) {
		s.fail(w, r, http.StatusForbidden, "The form is too old, or not of this page. Reload the page and try again.")
		return
	}
	_, v := s.find(w, r)
	if v == nil {
		return
	}
	if epoch := r.PostForm.Get("epoch"); epoch != v.ID.Epoch {
		s.fail(w, r, http.StatusConflict, "The run was started afresh since this page was made. Nothing was done.")
		return
	}
	err := s.do(r.Context(), a, v)
	done := s.now()
	var state *jobs.StateError
	switch {
	case errors.As(err, &state):
		s.fail(w, r, http.StatusConflict, fmt.Sprintf("The run is %s by now. Nothing was done.", state.State))
		return
	case err != nil:
		s.o.Log.Error("dashboard: button failed", "action", a.Name, "run", v.ID.Name, "err", err)
		s.fail(w, r, http.StatusBadGateway, "The store refused: "+err.Error())
		return
	}
	s.o.Log.Info("dashboard: button pressed", "action", a.Name, "run", v.ID.Name, "from", remote(r))
	// A look that began earlier may have seen the run as it was.
	s.hub.until(r.Context(), s.o.waits.detail, func(x *Snapshot) bool { return x.At.After(done) })
	http.Redirect(w, r, "/run/"+v.ID.Name, http.StatusSeeOther)
}

func (s *Server) do(ctx context.Context, a action, v *RunView) error {
	st := s.o.Store
	if a.Name != "retry" {
		return st.SetState(ctx, v.ID, a.from, a.to, "")
	}
	runs, err := st.Runs(ctx)
	if _, err = jobs.Damaged(err); err != nil {
		return err
	}
	for _, run := range runs {
		if run.ID != v.ID {
			continue
		}
		if run.State != jobs.Running && run.State != jobs.Paused && run.State != jobs.Failed {
			return &jobs.StateError{Run: run.ID, State: run.State}
		}
		if err := st.ClearFailures(ctx, run.ID); err != nil {
			return err
		}
		// A new revision makes a scheduler that leads the run read it anew.
		_, err := st.Update(ctx, run.Manifest)
		return err
	}
	return jobs.ErrFenced
}
