package httpapi

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Figures are counts that other packages keep. All but the present numbers only
// grow while the process lives.
type Figures struct {
	// Runs counts the runs that ended, by outcome: end, cancelled, or the
	// kind of the error. Running is how many have not.
	Runs    map[string]int64
	Running int
	// Events counts the records appended, Commits the transactions they
	// took, CommitSeconds the time of these.
	Events        int64
	Commits       int64
	CommitSeconds float64
	// Followers is how many streams are open; FollowerBytes what was sent
	// to them; CatchUps how often one was served from the log because it was
	// behind; Dropped how many were given up as dead.
	Followers     int64
	FollowerBytes int64
	CatchUps      int64
	Dropped       int64
}

// metrics are the figures of this package, in a registry of their own.
type metrics struct {
	requests *prometheus.CounterVec
	inFlight prometheus.Gauge
	handler  http.Handler
}

func newMetrics(figures func() Figures) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "verbatim_http_requests_total", Help: "Requests answered, by method, route and status.",
		}, []string{"method", "route", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "verbatim_http_requests_in_flight", Help: "Requests being answered, without streams that took over their connection.",
		}),
	}
	r := prometheus.NewRegistry()
	r.MustRegister(m.requests, m.inFlight, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if figures != nil {
		r.MustRegister(newFigureCollector(figures))
	}
	// Compression would cost more than it saves on one machine.
	m.handler = promhttp.HandlerFor(r, promhttp.HandlerOpts{DisableCompression: true})
	return m
}

func (m *metrics) begin() (done func(method, route string, status int)) {
	m.inFlight.Inc()
	return func(method, route string, status int) {
		m.inFlight.Dec()
		m.requests.WithLabelValues(knownMethod(method), route, strconv.Itoa(status)).Inc()
	}
}

// knownMethod keeps a client from making labels of its own.
func knownMethod(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}

func (a *API) serveMetrics(w *reply, e *entry) error {
	w.Header().Set("Cache-Control", "no-store")
	a.metrics.handler.ServeHTTP(w, e.Request)
	return nil
}

// figureCollector asks for the figures once a scrape.
type figureCollector struct {
	figures func() Figures

	runs, running, events, commits, commitSeconds, followers, bytes, catchUps, dropped *prometheus.Desc
}

func newFigureCollector(figures func() Figures) *figureCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("verbatim_"+name, help, labels, nil)
	}
	return &figureCollector{
		figures:       figures,
		runs:          desc("runs_total", "Runs that ended, by outcome.", "outcome"),
		running:       desc("runs_running", "Runs that have not ended."),
		events:        desc("events_appended_total", "Records appended to the log."),
		commits:       desc("commits_total", "Transactions of the log."),
		commitSeconds: desc("commit_seconds_total", "Time spent in the log's transactions, in seconds."),
		followers:     desc("followers", "Streams that are open."),
		bytes:         desc("follower_bytes_total", "Bytes sent to followers."),
		catchUps:      desc("follower_catch_ups_total", "Times a follower was served from the log because it was behind."),
		dropped:       desc("followers_dropped_total", "Followers given up as dead."),
	}
}

// Describe names the figures.
func (c *figureCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.runs, c.running, c.events, c.commits, c.commitSeconds, c.followers, c.bytes, c.catchUps, c.dropped} {
		out <- d
	}
}

// Collect asks for the figures and hands them over.
func (c *figureCollector) Collect(out chan<- prometheus.Metric) {
	f := c.figures()
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	for outcome, n := range f.Runs {
		counter(c.runs, float64(n), outcome)
	}
	gauge(c.running, float64(f.Running))
	counter(c.events, float64(f.Events))
	counter(c.commits, float64(f.Commits))
	counter(c.commitSeconds, f.CommitSeconds)
	gauge(c.followers, float64(f.Followers))
	counter(c.bytes, float64(f.FollowerBytes))
	counter(c.catchUps, float64(f.CatchUps))
	counter(c.dropped, float64(f.Dropped))
}
