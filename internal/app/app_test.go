package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"verbatim/internal/client"
	"verbatim/internal/config"
	"verbatim/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testConfig is a configuration over a new data directory with a model that
// plays text.
func testConfig(t *testing.T, script string) config.Config {
	t.Helper()
	c := config.Default()
	c.Data = filepath.Join(t.TempDir(), "data")
	c.Addr = "127.0.0.1:0"
	c.BallastBytes = 0
	c.Model = "script:" + writeFile(t, "model.txt", script)
	return c
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func start(t *testing.T, c config.Config, o Options) *App {
	t.Helper()
	a := New(c, o)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

func stopApp(t *testing.T, a *App) {
	t.Helper()
	if err := a.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// answer asks and returns the text and the names of the events but deltas.
func answer(t *testing.T, c *client.Client, p client.Prompt) (text string, names []string) {
	t.Helper()
	for e, err := range c.Chat(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != "delta" {
			names = append(names, e.Name)
			continue
		}
		text += field(t, e, "text")
	}
	return text, names
}

func TestPrivateAppAnswersAndRemembers(t *testing.T) {
	cfg := testConfig(t, ":else\n:text\nHello, é中.\n")
	for _, run := range []string{"r1", "r2"} {
		a := start(t, cfg, Options{Private: true})
		c := a.Client()
		text, names := answer(t, c, client.Prompt{Text: "hi", Conversation: "c1", Run: run})
		if text != "Hello, é中." {
			t.Errorf("got %q", text)
		}
		if diff := cmp.Diff(names, []string{"start", "usage", "end"}); diff != "" {
			t.Errorf("events (-got +want)\n%s", diff)
		}
		// What the last process stored is still there, and runs nothing.
		again, _ := answer(t, c, client.Prompt{Text: "hi", Conversation: "c1", Run: "r1"})
		if again != text {
			t.Errorf("the first run is now %q", again)
		}
		c.HTTP.CloseIdleConnections()
		stopApp(t, a)
	}
	if _, err := os.Stat(filepath.Join(cfg.Data, addressName)); err == nil {
		t.Error("a private app wrote where it is")
	}
}

func TestStartUndoesWhatItDid(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cfg := testConfig(t, ":else\n:text\nHello.\n")
	bad := cfg
	bad.Addr = taken.Addr().String()
	if err := New(bad, Options{}).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "in use by another program") {
		t.Fatalf("got %v", err)
	}
	unknown := cfg
	unknown.Model = "nobody/x"
	if err := New(unknown, Options{}).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "no such model") {
		t.Fatalf("got %v", err)
	}
	// The data directory is free again.
	stopApp(t, start(t, cfg, Options{}))
}

func TestSecondAppOnTheDirectory(t *testing.T) {
	cfg := testConfig(t, ":else\n:text\nHello.\n")
	a := start(t, cfg, Options{})
	defer stopApp(t, a)
	if err := New(cfg, Options{}).Start(t.Context()); !errors.Is(err, store.ErrInUse) {
		t.Errorf("got %v", err)
	}
	c, err := Connect(t.Context(), cfg.Data)
	if err != nil {
		t.Fatal("the first is disturbed: ", err)
	}
	c.HTTP.CloseIdleConnections()
}

// A run that would never end is closed as interrupted when the app has to go,
// and its follower is told.
func TestStopClosesRuns(t *testing.T) {
	cfg := testConfig(t, ":else\n:text\nThis much.\n:hang\n")
	a := start(t, cfg, Options{})
	c := a.Client()
	defer c.HTTP.CloseIdleConnections()
	hurry, cancel := context.WithCancel(t.Context())
	cancel()
	stopped := make(chan error, 1)
	var text, last, code string
	for e, err := range c.Chat(t.Context(), client.Prompt{Text: "hi", Conversation: "c1", Run: "r1"}) {
		if err != nil {
			t.Fatal(err)
		}
		last = e.Name
		if e.Name == "delta" {
			text += field(t, e, "text")
			if text == "This much." {
				go func() { stopped <- a.Stop(hurry) }()
			}
		}
		if e.Name == "error" {
			code = field(t, e, "code")
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if text != "This much." || last != "error" || code != "interrupted" {
		t.Errorf("got %q, then %s %s", text, last, code)
	}
	if _, err := Connect(t.Context(), cfg.Data); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after Stop: %v", err)
	}
	if _, err := os.Stat(filepath.Join(cfg.Data, addressName)); err == nil {
		t.Error("the address of a server that is gone is left behind")
	}
	<-a.Served()
}

func TestTLS(t *testing.T) {
	cfg := testConfig(t, ":else\n:text\nHello.\n")
	cfg.TLSCert, cfg.TLSKey = certificate(t)
	a := start(t, cfg, Options{})
	defer stopApp(t, a)
	if !strings.HasPrefix(a.URL(), "https://127.0.0.1:") || !strings.HasPrefix(a.LaunchURL(), a.URL()+"/launch?code=") {
		t.Errorf("got %s and %s", a.URL(), a.LaunchURL())
	}
	c, err := Connect(t.Context(), cfg.Data)
	if err != nil {
		t.Fatal(err)
	}
	defer c.HTTP.CloseIdleConnections()
	if text, _ := answer(t, c, client.Prompt{Text: "hi", Run: "r1"}); text != "Hello." {
		t.Errorf("got %q", text)
	}
	// Another certificate than the one that was written down is refused.
	path := filepath.Join(cfg.Data, addressName)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(raw), a.cert, strings.Repeat("0", 64), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Connect(t.Context(), cfg.Data); !errors.Is(err, ErrNotRunning) {
		t.Errorf("got %v", err)
	}
}

func TestAddresses(t *testing.T) {
	cfg := testConfig(t, ":else\n:text\nHello.\n")
	cfg.Addr, cfg.InsecureListen = "0.0.0.0:0", true
	cfg.PublicURL, cfg.BasePath = "https://chat.example.org", "/v"
	a := start(t, cfg, Options{})
	defer stopApp(t, a)
	if !strings.HasPrefix(a.URL(), "http://127.0.0.1:") {
		t.Errorf("got %s", a.URL())
	}
	if got := a.LaunchURL(); !strings.HasPrefix(got, "https://chat.example.org/v/launch?code=") {
		t.Errorf("got %s", got)
	}
}

// certificate makes a key pair for another name than the address it is used at.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "chat.example.org"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile = writeFile(t, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	keyFile = writeFile(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
	return certFile, keyFile
}
