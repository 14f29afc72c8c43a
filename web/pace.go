package web

import (
	"math"
	"time"
)

// Lengths of time that the pace of a run is judged by.
const (
	paceFine   = 2 * time.Minute  // every sample is kept
	paceCoarse = 10 * time.Second // distance of older ones
	paceLong   = time.Hour        // older ones are dropped
	paceShort  = time.Minute      // the short view
	paceLeast  = 8 * time.Second  // nothing is said before
	paceStall  = 3 * time.Minute  // without progress for so long, a run stalls
	rateSpan   = 15 * time.Second // of the rate that is shown
	sparkStep  = 5 * time.Second
	sparkLen   = 60
)

// sample is how far a run was at one time.
type sample struct {
	at     time.Time
	open   float64 // estimated cost of what is left, in any unit
	values int64
}

// pace judges how fast a run goes on. The zero value has seen nothing.
type pace struct{ samples []sample }

// reset forgets everything: the plan was changed or the run stood still.
func (p *pace) reset() { p.samples = p.samples[:0] }

// add notes a sample. Samples less than half a second apart count as one.
func (p *pace) add(s sample) {
	if k := len(p.samples); k > 0 {
		last := p.samples[k-1]
		if s.at.Sub(last.at) < 500*time.Millisecond {
			return
		}
	}
	p.samples = append(p.samples, s)
	if len(p.samples)%64 == 0 {
		p.thin(s.at)
	}
}

// thin drops what is not needed, so that some 600 samples remain at most.
func (p *pace) thin(now time.Time) {
	kept := p.samples[:0]
	for _, s := range p.samples {
		age := now.Sub(s.at)
		if age > paceLong {
			continue
		}
		if k := len(kept); age > paceFine && k > 0 && s.at.Sub(kept[k-1].at) < paceCoarse {
			continue
		}
		kept = append(kept, s)
	}
	p.samples = kept
}

// before returns the latest sample that is at least d older than the last one,
// or the first there is.
func (p *pace) before(d time.Duration) sample {
	last := p.samples[len(p.samples)-1]
	for i := len(p.samples) - 1; i > 0; i-- {
		if last.at.Sub(p.samples[i].at) >= d {
			return p.samples[i]
		}
	}
	return p.samples[0]
}

// rate returns values a second over the last 15 seconds.
func (p *pace) rate() float64 {
	if len(p.samples) < 2 {
		return 0
	}
	last, then := p.samples[len(p.samples)-1], p.before(rateSpan)
	if dt := last.at.Sub(then.at).Seconds(); dt > 0 {
		return max(0, float64(last.values-then.values)/dt)
	}
	return 0
}

// spark returns values a second in steps of 5 seconds, the last 5 minutes, as
// far as they are known.
func (p *pace) spark() []float64 {
	if len(p.samples) < 2 {
		return nil
	}
	end := p.samples[len(p.samples)-1].at.Truncate(sparkStep)
	var out []float64
	for k := sparkLen; k > 0; k-- {
		a, ok1 := p.valuesAt(end.Add(-time.Duration(k) * sparkStep))
		b, ok2 := p.valuesAt(end.Add(-time.Duration(k-1) * sparkStep))
		if ok1 && ok2 {
			out = append(out, math.Round(max(0, b-a)/sparkStep.Seconds()))
		}
	}
	return out
}

// valuesAt interpolates the number of values at a time.
func (p *pace) valuesAt(t time.Time) (float64, bool) {
	for i := len(p.samples) - 1; i > 0; i-- {
		a, b := p.samples[i-1], p.samples[i]
		if !t.Before(a.at) && !t.After(b.at) {
			f := t.Sub(a.at).Seconds() / b.at.Sub(a.at).Seconds()
			return float64(a.values) + f*float64(b.values-a.values), true
		}
	}
	return 0, false
}

// Left is an estimate of the time that is left. Known says that there is one:
// between Least and Most.
type Left struct {
	Known       bool
	Least, Most time.Duration
	// Idle is how long nothing has been finished, when that is long.
	Idle time.Duration
}

// left estimates from the pace of the last hour and of the last minute. Where
// they differ it says so, instead of choosing one.
func (p *pace) left() Left {
	if len(p.samples) < 2 {
		return Left{}
	}
	last := p.samples[len(p.samples)-1]
	if last.open <= 0 {
		return Left{Known: true}
	}
	idle := last.at.Sub(p.moved())
	if idle >= paceStall {
		return Left{Idle: idle}
	}
	var out Left
	for _, window := range []time.Duration{paceLong, paceShort} {
		then := p.before(window)
		dt := last.at.Sub(then.at)
		did := then.open - last.open
		if dt < paceLeast || did <= 0 {
			continue
		}
		// Beyond centuries a Duration would wrap.
		d := time.Duration(min(dt.Seconds()*last.open/did, 290*365*24*3600) * float64(time.Second))
		if !out.Known {
			out = Left{Known: true, Least: d, Most: d}
		}
		out.Least, out.Most = min(out.Least, d), max(out.Most, d)
	}
	return out
}

// moved returns when something was last finished.
func (p *pace) moved() time.Time {
	last := p.samples[len(p.samples)-1]
	for i := len(p.samples) - 1; i > 0; i-- {
		if p.samples[i-1].open > last.open {
			return p.samples[i].at
		}
	}
	return p.samples[0].at
}

// flow is how much passes a second, averaged over the last rateSpan or so.
type flow struct {
	since, at time.Time
	amount    float64 // weighted with exp(−age/rateSpan)
}

func (f *flow) add(now time.Time, amount float64) {
	if f.since.IsZero() {
		f.since, f.at = now, now
	}
	f.amount = f.amount*math.Exp(-now.Sub(f.at).Seconds()/rateSpan.Seconds()) + amount
	f.at = now
}

// rate corrects for the time before the first amount, which has no weight.
func (f *flow) rate() float64 {
	age := f.at.Sub(f.since).Seconds()
	if age <= 0 {
		return 0
	}
	span := rateSpan.Seconds()
	return f.amount / (span * (1 - math.Exp(-age/span)))
}
