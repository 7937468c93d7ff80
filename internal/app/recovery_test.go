package app

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"verbatim/internal/client"
)

// startHeld starts an app whose recovery waits for release, and then ends with
// its error.
func startHeld(t *testing.T, o Options) (a *App, release chan<- error) {
	t.Helper()
	hold := make(chan error)
	a = New(testConfig(t, ":else\n:text\nHello.\n"), o)
	a.recovery.take = func(ctx context.Context) error {
		select {
		case err := <-hold:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a, hold
}

// status asks over the wire.
func status(t *testing.T, c *client.Client, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	res, err := c.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// A started app answers, and a prompt that comes before all is taken up waits
// for it.
func TestFirstPromptWaitsForRecovery(t *testing.T) {
	a, release := startHeld(t, Options{})
	defer stopApp(t, a)
	c, err := Connect(t.Context(), a.cfg.Data)
	if err != nil {
		t.Fatal("it does not answer: ", err)
	}
	defer c.HTTP.CloseIdleConnections()
	if code, body := status(t, c, "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "starting") {
		t.Errorf("readyz = %d %s", code, body)
	}
	released := make(chan struct{})
	go func() {
		release <- nil
		close(released)
	}()
	if text, _ := answer(t, c, client.Prompt{Text: "hi", Run: "r1"}); text != "Hello." {
		t.Errorf("got %q", text)
	}
	select {
	case <-released:
	default:
		t.Error("it was answered before all was taken up")
	}
	if code, body := status(t, c, "/readyz"); code != http.StatusOK {
		t.Errorf("readyz = %d %s", code, body)
	}
}

// An app that can't take up what was left ends by itself: who waits is told, no
// one else comes in, and the reason is the error of Stop.
func TestFailedRecoveryEndsTheApp(t *testing.T) {
	broken := errors.New("the disk is on fire")
	a, release := startHeld(t, Options{})
	c := a.Client()
	defer c.HTTP.CloseIdleConnections()
	told := make(chan string)
	go func() {
		_, body := status(t, c, "/chats")
		told <- body
	}()
	for held := false; !held; {
		// This question is one of the two.
		_, figures := status(t, c, "/metrics")
		held = strings.Contains(figures, "\nverbatim_http_requests_in_flight 2\n")
	}
	release <- broken
	if body := <-told; !strings.Contains(body, `"ok":false`) || !strings.Contains(body, `"unavailable"`) {
		t.Errorf("who waited was told %s", body)
	}
	<-a.Served()
	if err := a.Stop(t.Context()); !errors.Is(err, broken) || !strings.Contains(err.Error(), "the last process left") {
		t.Errorf("stop: %v", err)
	}
	// The data directory is free again.
	stopApp(t, start(t, a.cfg, Options{}))
}

// Stop does not wait longer than it may for what the last process left: the next
// start has it.
func TestStopBreaksRecoveryOff(t *testing.T) {
	a, _ := startHeld(t, Options{Private: true})
	hurry, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Stop(hurry); err != nil {
		t.Errorf("stop: %v", err)
	}
}
