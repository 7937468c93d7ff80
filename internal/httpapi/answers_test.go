package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

func TestHeadersOnEveryAnswer(t *testing.T) {
	_, api := newWorld(t, nil)
	for name, a := range map[string]ask{
		"page": {method: "GET", path: "/"}, "list": {method: "GET", path: "/chats"}, "stream": post("/chat", goodBody),
		"refused": {method: "GET", path: "/chats", noToken: true}, "missing": {method: "GET", path: "/nope"}, "metrics": {method: "GET", path: "/metrics"},
		"launch": {method: "GET", path: "/launch"},
	} {
		t.Run(name, func(t *testing.T) {
			h := a.of(api).Header()
			for k, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			} {
				if h.Get(k) != want {
					t.Errorf("%s = %q, want %q", k, h.Get(k), want)
				}
			}
			csp := h.Get("Content-Security-Policy")
			for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
				if !strings.Contains(csp, want) {
					t.Errorf("policy %q lacks %q", csp, want)
				}
			}
			if strings.Contains(csp, "unsafe") {
				t.Errorf("policy %q is loose", csp)
			}
			if name != "page" && name != "stream" && h.Get("Cache-Control") != "no-store" {
				t.Errorf("Cache-Control = %q, want no-store", h.Get("Cache-Control"))
			}
		})
	}
}

func TestLogTellsNoSecretAndNoText(t *testing.T) {
	w, api := newWorld(t, nil)
	path := api.LaunchPath()
	post("/chat?after=e1-5&x=private-query", `{"prompt":"a private question","chat_id":"c1","run_id":"r1"}`).of(api)
	open(api, path, "")
	open(api, path, "")
	ask{method: "GET", path: "/chats", header: header{"Authorization": "Bearer wrong-secret"}}.of(api)
	log := w.logs.String()
	_, code, _ := strings.Cut(path, "=")
	for _, secret := range []string{testToken, "private", code, "wrong-secret", api.gate.key.cookie} {
		if strings.Contains(log, secret) {
			t.Errorf("the log tells %q", secret)
		}
	}
	if lines := strings.Count(log, "\n"); lines != 4 {
		t.Errorf("%d lines for 4 requests:\n%s", lines, log)
	}
	for _, want := range []string{`"msg":"request"`, `"method":"POST"`, `"route":"/chat"`, `"status":200`, `"conversation":"c1"`, `"run":"r1"`, `"ms":`, `"bytes":`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
}

func TestMetrics(t *testing.T) {
	_, api := newWorld(t, func(o *Options) {
		o.Figures = func() Figures {
			return Figures{Runs: map[string]int64{"end": 4, "rate_limit": 1}, Running: 2, Events: 50, Commits: 7, CommitSeconds: 0.5, Followers: 3, FollowerBytes: 900}
		}
	})
	ask{method: "GET", path: "/chats/c-private"}.of(api)
	ask{method: "SPY", path: "/chats/c-private"}.of(api)
	got := ask{method: "GET", path: "/metrics"}.of(api).Body.String()
	for _, want := range []string{
		`verbatim_runs_total{outcome="end"} 4`, `verbatim_runs_total{outcome="rate_limit"} 1`, "verbatim_runs_running 2",
		"verbatim_events_appended_total 50", "verbatim_commits_total 7", "verbatim_commit_seconds_total 0.5",
		"verbatim_followers 3", "verbatim_follower_bytes_total 900", "go_goroutines",
		`verbatim_http_requests_total{method="GET",route="/chats/{id}",status="404"} 1`,
		`verbatim_http_requests_total{method="other",route="none",status="405"} 1`,
	} {
		if !strings.Contains(got, want+"\n") && !strings.Contains(got, want+" ") {
			t.Errorf("metrics lack %s", want)
		}
	}
	if strings.Contains(got, "private") {
		t.Error("metrics tell ids")
	}
}

func TestPageFiles(t *testing.T) {
	_, api := newWorld(t, nil)
	rec := open(api, "/", "")
	if got := rec.Header().Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("type = %q", got)
	}
	for name, want := range map[string]string{"app.js": "text/javascript; charset=utf-8", "wire.js": "text/javascript; charset=utf-8", "view.js": "text/javascript; charset=utf-8", "app.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"} {
		rec := open(api, "/assets/"+name, "")
		if rec.Header().Get("Content-Type") != want || rec.Header().Get("Cache-Control") != "no-cache" || rec.Body.Len() == 0 {
			t.Errorf("%s = %d %v", name, rec.Code, rec.Header())
		}
		again := ask{method: "GET", path: "/assets/" + name, noToken: true, header: header{"If-None-Match": rec.Header().Get("ETag")}}.of(api)
		if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s again = %d with %d bytes, want 304", name, again.Code, again.Body.Len())
		}
	}
	js := string(api.assets["app.js"].body) + string(api.assets["wire.js"].body) + string(api.assets["view.js"].body)
	for _, sink := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", ".trim("} {
		if strings.Contains(js, sink) {
			t.Errorf("app.js uses %s", sink)
		}
	}
	page := rec.Body.String()
	for _, inline := range []string{"<style", " style=", " onclick=", "javascript:", "http://", "https://"} {
		if strings.Contains(page, inline) {
			t.Errorf("index.html holds %s, which its policy forbids", inline)
		}
	}
	if strings.Count(page, "<script") != 1 || !strings.Contains(page, `<script src="assets/app.js" type="module"></script>`) {
		t.Error("index.html has a script of its own")
	}
}
