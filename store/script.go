package store

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/jobs"
)

// The scripts. Each file says what its KEYS and ARGV are and what it returns.
var (
	//go:embed lua/accepts.lua
	luaAccepts string
	//go:embed lua/admit.lua
	luaAdmit string
	//go:embed lua/claims.lua
	luaClaims string
	//go:embed lua/origin.lua
	luaOrigin string
	//go:embed lua/marks.lua
	luaMarks string
	//go:embed lua/ledger.lua
	luaLedger string
	//go:embed lua/values.lua
	luaValues string
	//go:embed lua/sums.lua
	luaSums string
	//go:embed lua/points.lua
	luaPoints string
	//go:embed lua/create.lua
	luaCreate string
	//go:embed lua/update.lua
	luaUpdate string
	//go:embed lua/bury.lua
	luaBury string
	//go:embed lua/state.lua
	luaState string
	//go:embed lua/result.lua
	luaResult string
	//go:embed lua/note.lua
	luaNote string
	//go:embed lua/beat.lua
	luaBeat string
	//go:embed lua/silent.lua
	luaSilent string
	//go:embed lua/lead.lua
	luaLead string
	//go:embed lua/resign.lua
	luaResign string
)

var (
	scriptValues = redis.NewScript(luaAccepts + luaAdmit + luaOrigin + luaMarks + luaClaims + luaLedger + luaValues)
	scriptSums   = redis.NewScript(luaAccepts + luaAdmit + luaOrigin + luaMarks + luaClaims + luaLedger + luaSums)
	scriptPoints = redis.NewScript(luaAccepts + luaAdmit + luaOrigin + luaMarks + luaClaims + luaPoints)
	scriptCreate = redis.NewScript(luaCreate)
	scriptUpdate = redis.NewScript(luaUpdate)
	scriptBury   = redis.NewScript(luaBury)
	scriptState  = redis.NewScript(luaState)
	scriptResult = redis.NewScript(luaResult)
	scriptNote   = redis.NewScript(luaNote)
	scriptBeat   = redis.NewScript(luaAccepts + luaBeat)
	scriptSilent = redis.NewScript(luaSilent)
	scriptLead   = redis.NewScript(luaLead)
	scriptResign = redis.NewScript(luaResign)
)

// reply is what a script answered: a word and what comes after it.
type reply struct {
	word string
	rest []any
}

// run runs a script by its hash and sends its text only when the server does
// not know it. It turns the refusals that all scripts share into errors; other
// words are left to the caller.
func (s *Store) run(ctx context.Context, script *redis.Script, id jobs.RunID, keys []string, args ...any) (reply, error) {
	got, err := script.Run(ctx, s.client, keys, args...).Slice()
	if err != nil {
		return reply{}, err
	}
	if len(got) == 0 {
		return reply{}, fmt.Errorf("script answered nothing")
	}
	word, ok := got[0].(string)
	if !ok {
		return reply{}, fmt.Errorf("script answered %v", got[0])
	}
	r := reply{word, got[1:]}
	switch word {
	case "fenced":
		return r, jobs.ErrFenced
	case "state":
		return r, &jobs.StateError{Run: id, State: jobs.State(r.text(0))}
	case "quarantined":
		return r, jobs.ErrQuarantined
	case "changed":
		return r, fmt.Errorf("%w: it is at revision %s", jobs.ErrChanged, r.text(0))
	case "corrupt":
		return r, jobs.Lasting(fmt.Errorf("key %s holds something else than expected", r.text(0)))
	}
	return r, nil
}

// text returns element i of the rest as text, or an empty string.
func (r reply) text(i int) string {
	if i >= len(r.rest) {
		return ""
	}
	switch v := r.rest[i].(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// number returns element i of the rest as an integer.
func (r reply) number(i int) (int64, error) {
	v, err := strconv.ParseInt(r.text(i), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("script answered %v", append([]any{r.word}, r.rest...))
	}
	return v, nil
}
