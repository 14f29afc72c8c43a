package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/jobs"
)

// TestDamagedManifest: a run whose manifest makes no sense is named in one line,
// the other runs are listed and worked on, and it can be deleted.
func TestDamagedManifest(t *testing.T) {
	t.Parallel()
	onBoth(t, func(b *bench) {
		write(b.T, b.dir, "toy.yaml", toyYAML)
		small := []string{"run", "toy.yaml", "--set", "sweeps.toy.n.to=200"}
		b.call(codeDone, append(small, "--set", "name=bad")...)
		b.harm("bad", func(ctx context.Context, prefix string, st *opened) {
			if err := st.Client().HSet(ctx, prefix+"manifest", "manifest", `{"sweeps": [`).Err(); err != nil {
				b.Fatal(err)
			}
		})
		const why = "run bad cannot be read: key nsweep:{bad."
		b.call(codeDone, small...)
		out, errs := b.call(codeDone, "runs")
		if !strings.Contains(out, "toy  complete  100.0 %") || !strings.Contains(out, "bad  damaged ") ||
			strings.Count(errs, "\n") != 1 || !strings.Contains(errs, why) || !strings.Contains(errs, "nsweep delete bad --yes") {
			b.Errorf("runs says\n%s\n%s", out, errs)
		}
		list := callJSON[[]runStatus](b.T, b.dir, b.env, codeDone, "runs", "--json")
		i := slices.IndexFunc(list, func(s runStatus) bool { return s.Run == "bad" })
		if len(list) != 2 || i < 0 || list[i].State != stateDamaged || !strings.Contains(list[i].Reason, "manifest") || list[1-i].State != jobs.Complete {
			b.Errorf("runs --json says %+v", list)
		}
		for _, args := range []string{"status bad", "report bad", "pause bad", "verify bad"} {
			_, errs := b.call(codeFailed, strings.Fields(args)...)
			if strings.Count(errs, "\n") != 1 || !strings.Contains(errs, why) {
				b.Errorf("nsweep %s says %q", args, errs)
			}
		}
		b.call(codeUsage, "delete", "bad")
		b.call(codeDone, "delete", "bad", "--yes")
		if out, errs := b.call(codeDone, "runs"); strings.Contains(out, "bad") || errs != "" {
			b.Errorf("after the deletion runs says\n%s\n%s", out, errs)
		}
		b.call(codeDone, append(small, "--set", "name=bad")...)
	})
}
