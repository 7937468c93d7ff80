package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"verbatim/bench/internal/load"
	"verbatim/bench/internal/upstream"
)

// product is a running verbatim.
type product struct {
	*process
	addr, token string
}

// startProduct runs the product on a data directory.
func (l *lab) startProduct(data string) (*product, error) {
	env := []string{
		"OPENAI_BASE_URL=http://" + l.upstreamAddr + "/v1",
		"OPENAI_API_KEY=bench",
	}
	p, err := start("verbatim", env, l.bin("verbatim"),
		"serve", "--addr", "127.0.0.1:0", "--data", data, "--model", "openai/bench")
	if err != nil {
		return nil, err
	}
	var ready struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal([]byte(p.ready), &ready); err != nil {
		p.kill()
		return nil, fmt.Errorf("the ready line is %q: %w", p.ready, err)
	}
	u, err := url.Parse(ready.URL)
	if err != nil {
		p.kill()
		return nil, err
	}
	token, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("read the token: %w", err)
	}
	return &product{process: p, addr: u.Host, token: strings.TrimSpace(string(token))}, nil
}

// freshProduct runs the product on a new data directory.
func (l *lab) freshProduct(name string) (*product, error) {
	dir, err := os.MkdirTemp(l.work, name+"-")
	if err != nil {
		return nil, err
	}
	return l.startProduct(dir)
}

// turn is a message whose text is a script for the model.
type turn struct {
	name   string // of the conversation and of the run
	script upstream.Script
}

// request sends the turn, or attaches to its run when it has been sent before.
// after resumes behind a cursor; empty starts from the beginning.
func (p *product) request(t turn, after string) load.Request {
	body := fmt.Appendf(nil, `{"prompt":%q,"chat_id":%q,"run_id":%q,"tools":false}`, t.script.String(), t.name, t.name)
	headers := []string{"Authorization: Bearer " + p.token}
	if after != "" {
		return load.Post(p.addr, "/chat", body, append(headers, "Last-Event-ID: "+after)...)
	}
	r := load.Post(p.addr, "/chat", body, headers...)
	r.Wait = "event: start\n"
	return r
}

// awaitHealth asks /health until it answers and returns how long that took
// since the program was started.
func (p *product) awaitHealth() (time.Duration, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second}
	for time.Since(p.began) < startLimit {
		resp, err := client.Get("http://" + p.addr + "/health")
		if err != nil {
			time.Sleep(500 * time.Microsecond)
			continue
		}
		took := time.Since(p.began)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("/health answered %s", resp.Status)
		}
		return took, nil
	}
	return 0, fmt.Errorf("/health did not answer within %s", startLimit)
}
