package telegramfake

import (
	"bytes"
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// hook is where updates are told by a call: https://core.telegram.org/bots/api#setwebhook.
type hook struct {
	URL       string
	secret    string
	errorAt   time.Time
	errorText string
	// handler answers in place of the network.
	handler http.Handler
	pushing bool
}

// Reach lets h answer the calls of the webhook, whatever its address is. Without
// it they go over the network.
func (f *Fake) Reach(h http.Handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook.handler = h
	f.push()
}

var secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

func (f *Fake) setWebhook(q *query) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	url, secret := q.values["url"], q.values["secret_token"]
	connections, err := q.number("max_connections", 40)
	switch {
	case url != "" && !strings.HasPrefix(url, "https://"):
		return badRequest("bad webhook: An HTTPS URL must be provided for webhook")
	case secret != "" && !secretForm.MatchString(secret):
		return badRequest("secret token contains unallowed characters")
	case err != nil || connections < 1 || connections > 100:
		return badRequest("a wrong max_connections")
	}
	if _, err := q.object("allowed_updates", &f.queue.allowed); err != nil {
		return badRequest(err.Error())
	}
	f.hook.URL, f.hook.secret = url, secret
	if url != "" {
		f.endPoll("terminated by setWebhook request")
	}
	f.push()
	return success(true)
}

func (f *Fake) deleteWebhook(*query) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook.URL = ""
	return success(true)
}

func (f *Fake) getWebhookInfo(*query) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	info := map[string]any{"url": f.hook.URL, "has_custom_certificate": false, "pending_update_count": len(f.queue.waiting)}
	if !f.hook.errorAt.IsZero() {
		info["last_error_date"], info["last_error_message"] = f.hook.errorAt.Unix(), f.hook.errorText
	}
	return success(info)
}

// SetHook sets a webhook as another program would.
func (f *Fake) SetHook(url string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook.URL = url
	f.endPoll("terminated by setWebhook request")
}

// Hook returns the address that is called, empty for none.
func (f *Fake) Hook() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hook.URL
}

// push begins to tell what waits, if it is not being told already. It is called
// with f.mu held.
func (f *Fake) push() {
	if f.hook.URL == "" || f.hook.pushing || len(f.queue.waiting) == 0 {
		return
	}
	f.hook.pushing = true
	f.pushes.Go(f.pushAll)
}

// pushAll tells what waits, one after the other. What is not answered with 2xx is
// told again, a second later and then twice as late each time, and given up in
// the end: "we will repeat the request and give up after a reasonable amount of
// attempts".
func (f *Fake) pushAll() {
	const attempts = 8
	pause, tries := time.Second, 0
	for {
		next, h, ok := f.nextPush()
		if !ok {
			return
		}
		status, err := h.call(f.ends, next.body)
		if err == nil && status/100 == 2 {
			f.pushed(next.id)
			pause, tries = time.Second, 0
			continue
		}
		f.pushFailed(status)
		if tries++; tries == attempts {
			f.pushed(next.id)
			pause, tries = time.Second, 0
		}
		if !wait(f.ends, pause) {
			return
		}
		pause *= 2
	}
}

func (f *Fake) nextPush() (queued, hook, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range f.queue.waiting {
		if f.queue.wanted(q.kind) && f.hook.URL != "" {
			return q, f.hook, true
		}
	}
	f.hook.pushing = false
	return queued{}, hook{}, false
}

func (f *Fake) pushed(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, q := range f.queue.waiting {
		if q.id == id {
			f.queue.waiting = append(f.queue.waiting[:i:i], f.queue.waiting[i+1:]...)
			return
		}
	}
}

func (f *Fake) pushFailed(status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook.errorAt = time.Now()
	f.hook.errorText = "Wrong response from the webhook: " + strconv.Itoa(status) + " " + http.StatusText(status)
}

func (h hook) call(ctx context.Context, body []byte) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	if h.secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", h.secret)
	}
	if h.handler != nil {
		var a answered
		h.handler.ServeHTTP(&a, req)
		return a.status, nil
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}

// answered keeps the status of an answer.
type answered struct{ status int }

func (a *answered) Header() http.Header { return http.Header{} }

func (a *answered) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return len(p), nil
}

func (a *answered) WriteHeader(status int) { a.status = status }
