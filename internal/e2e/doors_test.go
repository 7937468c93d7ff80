package e2e

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// http10 is the direct way in for a client of the old kind: one request a
// connection, the answer ends when the connection does.
func (p *product) http10() *door {
	d := p.door()
	d.name = "HTTP/1.0"
	d.do = func(req *http.Request) (*http.Response, error) {
		conn, err := net.Dial("tcp", req.URL.Host)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		var head strings.Builder
		fmt.Fprintf(&head, "%s %s HTTP/1.0\r\nHost: %s\r\nContent-Length: %d\r\n", req.Method, req.URL.RequestURI(), req.URL.Host, len(body))
		_ = req.Header.Write(&head) // into memory
		if _, err := io.WriteString(conn, head.String()+"\r\n"+string(body)); err != nil {
			conn.Close()
			return nil, err
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), req)
		if err != nil {
			conn.Close()
			return nil, err
		}
		res.Body = ownConn{res.Body, conn}
		return res, nil
	}
	return d
}

// ownConn is a body that ends its connection.
type ownConn struct {
	io.ReadCloser
	conn net.Conn
}

func (o ownConn) Close() error { return o.conn.Close() }

// certificate makes a certificate for 127.0.0.1 that only its own pool trusts.
func certificate(t testing.TB) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyBytes, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyBytes})
	for file, b := range map[string][]byte{certFile: certPEM, keyFile: keyPEM} {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}

// overTLS is the way in to a program that speaks TLS, by HTTP/1.1 or HTTP/2.
func (p *product) overTLS(t testing.TB, pool *x509.CertPool, http2 bool) *door {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		Protocols:       protocols, DisableCompression: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	d := p.door()
	d.name = "TLS"
	want := "HTTP/1.1"
	if http2 {
		d.name, want = "HTTP/2", "HTTP/2.0"
	}
	d.do = func(req *http.Request) (*http.Response, error) {
		res, err := transport.RoundTrip(req)
		if err == nil && res.Proto != want {
			res.Body.Close()
			return nil, fmt.Errorf("the answer came by %s, want %s", res.Proto, want)
		}
		return res, err
	}
	return d
}

// behindNginx starts nginx in front of the program, with nothing but
// proxy_pass said.
func (p *product) behindNginx(t testing.TB) *door {
	dir, port := t.TempDir(), freePort(t)
	config := fmt.Sprintf(`
daemon off;
master_process off; # one process, which ends with the tests
pid %[1]s/pid;
error_log %[1]s/error.log;
events {}
http {
  access_log off;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  server {
    listen 127.0.0.1:%[2]d;
    location / { proxy_pass %[3]s; }
  }
}
`, dir, port, p.ready.URL)
	return p.behind(t, "nginx", dir, config, port, "-c", filepath.Join(dir, "nginx.conf"), "-e", filepath.Join(dir, "error.log"))
}

// behindCaddy starts Caddy in front of the program, with nothing but
// reverse_proxy said.
func (p *product) behindCaddy(t testing.TB) *door {
	dir, port := t.TempDir(), freePort(t)
	config := fmt.Sprintf(`
{
	admin off
	auto_https off
}
http://127.0.0.1:%d {
	bind 127.0.0.1
	reverse_proxy %s
}
`, port, p.ready.URL)
	return p.behind(t, "caddy", dir, config, port, "run", "--adapter", "caddyfile", "--config", filepath.Join(dir, "caddy.conf"))
}

func (p *product) behind(t testing.TB, program, dir, config string, port int, args ...string) *door {
	t.Helper()
	path, err := findProgram(program)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is not installed; run make setup", program)
		}
		t.Skipf("%s is not installed; make setup installs it", program)
	}
	if err := os.WriteFile(filepath.Join(dir, program+".conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir}
	said := &output{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = said, said, 5*time.Second
	if err := world.spawner.start(cmd); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("%s said:\n%s", program, said)
		}
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	until(t, program+" listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	})
	d := p.door()
	d.name, d.base = program, "http://"+address
	return d
}

// findProgram looks where the system keeps servers, too.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
		if err != nil {
			path, err = exec.LookPath(filepath.Join(dir, name))
		}
	}
	return path, err
}

// freePort returns a port that nobody listened on a moment ago.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
