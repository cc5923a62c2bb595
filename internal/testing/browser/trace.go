package browser

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// A Task is a computation of the page during which no frame appears.
type Task struct {
	// CPU is processor time, which other programs do not prolong.
	CPU, Wall time.Duration
	Parts     []string
}

// LongestTask runs f and returns the task of the page that took the most
// processor time during f.
func (p *Page) LongestTask(f func()) (longest Task) {
	p.t.Helper()
	var mu sync.Mutex
	var events []traceEvent
	complete := make(chan struct{})
	listening, stop := context.WithCancel(p.ctx)
	defer stop()
	chromedp.ListenTarget(listening, func(event any) {
		switch e := event.(type) {
		case *tracing.EventDataCollected:
			mu.Lock()
			defer mu.Unlock()
			for _, raw := range e.Value {
				var x traceEvent
				if json.Unmarshal(raw, &x) == nil && (x.Name == "thread_name" || x.CPU > 0) {
					events = append(events, x)
				}
			}
		case *tracing.EventTracingComplete:
			close(complete)
		}
	})
	p.Do(tracing.Start().WithTransferMode(tracing.TransferModeReportEvents).WithTraceConfig(&tracing.TraceConfig{
		IncludedCategories: []string{"toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"}}))
	f()
	p.Text(`"the trace has the task before this one"`)
	p.Do(tracing.End())
	select {
	case <-complete:
	case <-time.After(patience):
		p.t.Fatal("the browser sends no trace")
	}
	mu.Lock()
	defer mu.Unlock()
	longest, found := longestOf(events)
	if !found {
		p.t.Fatalf("the trace of %d events holds no task of the page", len(events))
	}
	return longest
}

// A traceEvent is one complete event of Chromium's trace format, with times in
// microseconds.
type traceEvent struct {
	Name    string `json:"name"`
	Process int    `json:"pid"`
	Thread  int    `json:"tid"`
	Start   int64  `json:"ts"`
	Wall    int64  `json:"dur"`
	CPU     int64  `json:"tdur"`
	Args    struct {
		Name string `json:"name"`
	} `json:"args"`
}

func (e traceEvent) thread() [2]int { return [2]int{e.Process, e.Thread} }

func longestOf(events []traceEvent) (longest Task, found bool) {
	pages := map[[2]int]bool{}
	for _, e := range events {
		if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			pages[e.thread()] = true
		}
	}
	isTask := func(e traceEvent) bool { return e.Name == "RunTask" || e.Name == "ThreadControllerImpl::RunTask" }
	var worst traceEvent
	for _, e := range events {
		if pages[e.thread()] && isTask(e) && e.CPU > worst.CPU {
			worst, found = e, true
		}
	}
	longest = Task{CPU: time.Duration(worst.CPU) * time.Microsecond, Wall: time.Duration(worst.Wall) * time.Microsecond}
	for _, e := range events {
		within := e.thread() == worst.thread() && e.Start >= worst.Start && e.Start+e.Wall <= worst.Start+worst.Wall
		if within && !isTask(e) && 10*e.CPU > worst.CPU {
			longest.Parts = append(longest.Parts, e.Name+" "+(time.Duration(e.CPU)*time.Microsecond).String())
		}
	}
	return longest, found
}
