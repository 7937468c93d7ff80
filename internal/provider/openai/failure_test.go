package openai

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"verbatim/internal/event"
	"verbatim/internal/llm"
)

func TestStatus(t *testing.T) {
	tests := []struct {
		name   string
		status int
		header http.Header
		body   string
		want   llm.Failure
	}{
		{"401", 401, nil, `{"error":{"message":"bad key sk-secret, it is","type":"invalid_request_error","code":"invalid_api_key"}}`,
			llm.Failure{Kind: event.ErrorAuth, Message: "the provider did not accept the API key (status 401): bad key [key], it is"}},
		{"403 whatever its code", 403, nil, `{"error":{"message":"no","code":"insufficient_quota"}}`,
			llm.Failure{Kind: event.ErrorAuth, Message: "the provider did not accept the API key (status 403): no"}},
		{"429", 429, http.Header{"Retry-After": {"7"}}, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`,
			llm.Failure{Kind: event.ErrorRateLimit, Retryable: true, RetryAfter: 7 * time.Second, Message: "the provider takes no more requests just now (status 429): slow down"}},
		{"429 in milliseconds", 429, http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"7"}}, ``,
			llm.Failure{Kind: event.ErrorRateLimit, Retryable: true, RetryAfter: 1500 * time.Millisecond, Message: "the provider takes no more requests just now (status 429)"}},
		{"429 with nonsense", 429, http.Header{"Retry-After": {"soon"}}, `null`,
			llm.Failure{Kind: event.ErrorRateLimit, Retryable: true, Message: "the provider takes no more requests just now (status 429)"}},
		{"quota by type", 429, nil, `{"error":{"message":"pay","type":"insufficient_quota","code":null}}`,
			llm.Failure{Kind: event.ErrorRateLimit, Code: event.CodeQuota, Message: "the provider's quota is used up (status 429): pay"}},
		{"402", 402, nil, `{}`, llm.Failure{Kind: event.ErrorRateLimit, Code: event.CodeQuota, Message: "the provider's quota is used up (status 402)"}},
		{"400 whatever its words", 400, nil, `{"error":{"message":"the key rate of 401 is wrong","type":"invalid_request_error"}}`,
			llm.Failure{Kind: event.ErrorInternal, Message: "the provider refused the request (status 400): the key rate of 401 is wrong"}},
		{"too long", 400, nil, `{"error":{"message":"max 8192","type":"invalid_request_error","code":"context_length_exceeded"}}`,
			llm.Failure{Kind: event.ErrorInternal, Code: event.CodeContextLength, Message: "the conversation is too long for the model (status 400): max 8192"}},
		{"404", 404, nil, `{"detail":"Not Found"}`,
			llm.Failure{Kind: event.ErrorInternal, Code: event.CodeConfig, Message: "the provider has no such model or address; check the model's name and the base URL (status 404)"}},
		{"408", 408, nil, ``, llm.Failure{Kind: event.ErrorInternal, Code: event.CodeTimeout, Retryable: true, Message: "the provider took too long (status 408)"}},
		{"500", 500, nil, `<html>oops`, llm.Failure{Kind: event.ErrorInternal, Code: event.CodeOverloaded, Retryable: true, Message: "the provider had an error of its own (status 500)"}},
		{"502", 502, nil, ``, llm.Failure{Kind: event.ErrorInternal, Code: event.CodeNetwork, Retryable: true, Message: "the provider could not be reached through its gateway (status 502)"}},
		{"503 as text", 503, http.Header{"Content-Type": {"text/plain"}}, "no healthy\nupstream",
			llm.Failure{Kind: event.ErrorInternal, Code: event.CodeOverloaded, Retryable: true, Message: "the provider had an error of its own (status 503): no healthy upstream"}},
		{"504", 504, nil, ``, llm.Failure{Kind: event.ErrorInternal, Code: event.CodeTimeout, Retryable: true, Message: "the provider took too long (status 504)"}},
		{"529", 529, nil, `{"object":"error","message":"busy"}`, llm.Failure{Kind: event.ErrorInternal, Code: event.CodeOverloaded, Retryable: true, Message: "the provider had an error of its own (status 529): busy"}},
		{"long words are bounded", 400, nil, `{"error":{"message":"` + strings.Repeat("é", 1000) + `"}}`,
			llm.Failure{Kind: event.ErrorInternal, Message: "the provider refused the request (status 400): " + strings.Repeat("é", 300) + " [more]"}},
		{"a web page", 200, http.Header{"Content-Type": {"text/html; charset=utf-8"}}, "<html>",
			llm.Failure{Kind: event.ErrorInternal, Code: event.CodeConfig, Message: "the base URL leads to a web page, not to a model (text/html; charset=utf-8); it usually ends with /v1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ask(t, newModel(t, roundTrip(func(*http.Request) (*http.Response, error) {
				header := test.header
				if header == nil {
					header = http.Header{}
				}
				return &http.Response{StatusCode: test.status, Header: header, Body: io.NopCloser(strings.NewReader(test.body))}, nil
			})))
			if got.Failure == nil {
				t.Fatalf("got %+v, want a failure", got)
			}
			test.want.Status = test.status
			if diff := cmp.Diff(*got.Failure, test.want, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("failure (-got +want):\n%s", diff)
			}
		})
	}
}

func TestRetryAfterIsADate(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := http.Header{"Retry-After": {now.Add(9 * time.Second).Format(http.TimeFormat)}}
	if got := retryAfter(h, now); got != 9*time.Second {
		t.Errorf("got %v, want 9s", got)
	}
	if got := retryAfter(h, now.Add(time.Minute)); got != 0 {
		t.Errorf("a date that has passed: got %v, want 0", got)
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	m, err := New(Config{BaseURL: address + "/v1?token=hidden", Key: "sk-secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	got := ask(t, m)
	if got.Failure == nil || got.Failure.Code != event.CodeNetwork || !got.Failure.Retryable {
		t.Fatalf("got %+v, want a network failure that may be tried again", got)
	}
	if text := got.Failure.Error(); strings.Contains(text, "hidden") || strings.Contains(text, "sk-secret") {
		t.Errorf("the error tells a secret: %s", text)
	}
}

// The key and the conversation go only to the host that was named.
func TestRedirects(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer other.Close()
	mux := http.NewServeMux()
	mux.Handle("/away/", http.RedirectHandler(other.URL+"/v1/chat/completions", http.StatusTemporaryRedirect))
	mux.HandleFunc("/near/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/v1/chat/completions", http.StatusPermanentRedirect)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer sk-secret" {
			_, _ = io.WriteString(w, events(delta(`"content":"near"`), stop, done))
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	for path, want := range map[string]string{"/near/v1": "near", "/away/v1": ""} {
		m, err := New(Config{BaseURL: server.URL + path, Key: "sk-secret"})
		if err != nil {
			t.Fatal(err)
		}
		got := ask(t, m)
		if got.Text != want {
			t.Errorf("%s: got %q, want %q", path, got.Text, want)
		}
		if want == "" && (got.Failure == nil || got.Failure.Code != event.CodeConfig || got.Failure.Status != 307) {
			t.Errorf("%s: got %+v, want a failure of the configuration", path, got.Failure)
		}
		_ = m.Close()
	}
	if reached {
		t.Error("the request followed a redirect to another host")
	}
}

func TestNoKey(t *testing.T) {
	m, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	got := ask(t, m)
	if got.Failure == nil || got.Failure.Kind != event.ErrorAuth {
		t.Errorf("got %+v, want a failure of kind auth", got)
	}
}

func TestBaseURL(t *testing.T) {
	tests := []struct{ base, want string }{
		{"", "https://api.openai.com/v1/chat/completions"},
		{"http://h:1/v1", "http://h:1/v1/chat/completions"},
		{"http://h:1/v1/", "http://h:1/v1/chat/completions"},
		{"http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions"},
		{"https://h", "https://h/chat/completions"},
		{"https://h/a?api-version=1", "https://h/a/chat/completions?api-version=1"},
		{"h:1/v1", ""}, {"ftp://h", ""}, {"://", ""}, {"http://", ""},
	}
	for _, test := range tests {
		m, err := New(Config{BaseURL: test.base})
		if test.want == "" {
			if err == nil {
				t.Errorf("%q: got no error", test.base)
			}
			continue
		}
		if err != nil || m.url != test.want {
			t.Errorf("%q: got %v and %v, want %q", test.base, m, err, test.want)
		}
	}
}
