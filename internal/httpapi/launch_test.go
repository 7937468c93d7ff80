package httpapi

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// open follows a launch link as a browser does that was sent there by hand.
func open(api *API, path, host string) *httptest.ResponseRecorder {
	return ask{method: "GET", path: path, host: host, noToken: true}.of(api)
}

func cookieOf(t *testing.T, rec *httptest.ResponseRecorder) *http.Cookie {
	t.Helper()
	cookies := rec.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("%d cookies (status %d %s), want 1", len(cookies), rec.Code, rec.Body)
	}
	return cookies[0]
}

func TestLaunchLinkLetsABrowserIn(t *testing.T) {
	_, api := newWorld(t, nil)
	rec := open(api, api.LaunchPath(), "")
	if rec.Code != http.StatusSeeOther || rec.Header().Get("Location") != "/" {
		t.Errorf("answer = %d to %q, want 303 to /", rec.Code, rec.Header().Get("Location"))
	}
	c := cookieOf(t, rec)
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure || c.MaxAge <= 0 {
		t.Errorf("cookie = %v, want HttpOnly, SameSite=Strict, Path=/, for good, not Secure on plain HTTP", c)
	}
	if c.Name != "verbatim_4747" {
		t.Errorf("cookie name = %q, want one with the port", c.Name)
	}
	if strings.Contains(c.Value, testToken) {
		t.Error("the cookie holds the token")
	}
	cookie := header{"Cookie": c.Name + "=" + c.Value, "Sec-Fetch-Site": "same-origin"}
	if rec := (ask{method: "GET", path: "/chats", noToken: true, header: cookie}).of(api); rec.Code != http.StatusOK {
		t.Errorf("with the cookie: %d %s", rec.Code, rec.Body)
	}
}

func TestLaunchLinkWorksOnce(t *testing.T) {
	w, api := newWorld(t, nil)
	path := api.LaunchPath()
	cookieOf(t, open(api, path, ""))
	rec := open(api, path, "")
	wantError(t, rec, Denied)
	if len(rec.Result().Cookies()) > 0 {
		t.Error("a used link set a cookie")
	}
	for name, code := range map[string]string{"none": "", "made up": "?code=abc", "the token": "?code=" + testToken} {
		t.Run(name, func(t *testing.T) { wantError(t, open(api, "/launch"+code, ""), Denied) })
	}
	t.Run("too old", func(t *testing.T) {
		path := api.LaunchPath()
		w.now = w.now.Add(LaunchLife)
		wantError(t, open(api, path, ""), Denied)
	})
	t.Run("just in time", func(t *testing.T) {
		path := api.LaunchPath()
		w.now = w.now.Add(LaunchLife - time.Second)
		cookieOf(t, open(api, path, ""))
	})
	t.Run("asked for its head only", func(t *testing.T) {
		path := api.LaunchPath()
		wantHead := ask{method: "HEAD", path: path}.of(api)
		if wantHead.Code != http.StatusMethodNotAllowed {
			t.Errorf("HEAD = %d, want 405", wantHead.Code)
		}
		cookieOf(t, open(api, path, ""))
	})
}

func TestPersonWithAUsedLinkGetsThePage(t *testing.T) {
	_, api := newWorld(t, nil)
	rec := ask{method: "GET", path: "/launch?code=used", noToken: true,
		header: header{"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "cross-site"}}.of(api)
	if rec.Code != http.StatusSeeOther || rec.Header().Get("Location") != "/#used-link" || len(rec.Result().Cookies()) > 0 {
		t.Errorf("answer = %d to %q with %d cookies", rec.Code, rec.Header().Get("Location"), len(rec.Result().Cookies()))
	}
}

func TestLaunchCodesAreBounded(t *testing.T) {
	_, api := newWorld(t, nil)
	oldest := api.LaunchPath()
	for range maxLaunchCodes {
		api.LaunchPath()
	}
	wantError(t, open(api, oldest, ""), Denied)
	cookieOf(t, open(api, api.LaunchPath(), ""))
}

func TestCookie(t *testing.T) {
	_, api := newWorld(t, nil)
	c := cookieOf(t, open(api, api.LaunchPath(), ""))
	pair := c.Name + "=" + c.Value
	get := func(api *API, host string, h header) *httptest.ResponseRecorder {
		return ask{method: "GET", path: "/chats", host: host, noToken: true, header: h}.of(api)
	}
	t.Run("survives a restart", func(t *testing.T) {
		_, again := newWorld(t, nil)
		if rec := get(again, "", header{"Cookie": pair}); rec.Code != http.StatusOK {
			t.Errorf("status = %d", rec.Code)
		}
	})
	t.Run("ends with the token", func(t *testing.T) {
		_, other := newWorld(t, func(o *Options) { o.Token = "another" })
		wantError(t, get(other, "", header{"Cookie": pair}), Unauthenticated)
	})
	t.Run("of another port", func(t *testing.T) {
		wantError(t, get(api, "127.0.0.1:4848", header{"Cookie": pair}), Unauthenticated)
	})
	t.Run("beside another server's", func(t *testing.T) {
		if rec := get(api, "", header{"Cookie": "verbatim_4848=other; " + pair}); rec.Code != http.StatusOK {
			t.Errorf("status = %d", rec.Code)
		}
	})
	t.Run("with a changed value", func(t *testing.T) {
		wantError(t, get(api, "", header{"Cookie": pair + "x"}), Unauthenticated)
		wantError(t, get(api, "", header{"Cookie": c.Name + "="}), Unauthenticated)
	})
	t.Run("beside a wrong token", func(t *testing.T) {
		wantError(t, get(api, "", header{"Cookie": pair, "Authorization": "Bearer no"}), Unauthenticated)
	})
	t.Run("from another port's page", func(t *testing.T) {
		w, api := newWorld(t, nil)
		rec := ask{method: "POST", path: "/chat", body: goodBody, noToken: true,
			header: header{"Cookie": pair, "Origin": "http://127.0.0.1:9999", "Sec-Fetch-Site": "same-site"}}.of(api)
		wantError(t, rec, Denied)
		if len(w.calls) > 0 {
			t.Errorf("it did %v", w.calls)
		}
	})
	t.Run("makes no links", func(t *testing.T) {
		rec := ask{method: "POST", path: "/link", noToken: true, header: header{"Cookie": pair}}.of(api)
		wantError(t, rec, Denied)
	})
	t.Run("is Secure over TLS", func(t *testing.T) {
		rec := ask{method: "GET", path: api.LaunchPath(), noToken: true, https: true}.of(api)
		if !cookieOf(t, rec).Secure {
			t.Error("a cookie set over TLS may be sent without")
		}
	})
	t.Run("says by which surface", func(t *testing.T) {
		w, api := newWorld(t, nil)
		ask{method: "POST", path: "/cancel/r1", noToken: true, header: header{"Cookie": pair}}.of(api)
		ask{method: "POST", path: "/cancel/r1"}.of(api)
		if len(w.via) != 2 || w.via[0].Surface != "web" || w.via[1].Surface != "api" {
			t.Errorf("via = %v, want web, then api", w.via)
		}
	})
}

func TestLinkIsMintedForTheToken(t *testing.T) {
	_, api := newWorld(t, nil)
	v := decode(t, ask{method: "POST", path: "/link"}.of(api))
	path, _ := v["path"].(string)
	if v["ok"] != true || v["url"] != "http://"+testHost+path || v["expires_in"] != 600.0 {
		t.Errorf("answer = %v", v)
	}
	if strings.Contains(path, testToken) {
		t.Error("the link holds the token")
	}
	cookieOf(t, open(api, path, ""))
}

func TestBasePath(t *testing.T) {
	w, api := newWorld(t, func(o *Options) { o.BasePath, o.PublicURL = "/verbatim/", "https://v.example.org" })
	const host = "v.example.org"
	v := decode(t, ask{method: "POST", path: "/verbatim/link", host: host}.of(api))
	u, err := url.Parse(v["url"].(string))
	if err != nil || !strings.HasPrefix(u.String(), "https://v.example.org/verbatim/launch?code=") {
		t.Fatalf("link = %v, %v", v, err)
	}
	rec := open(api, u.RequestURI(), host)
	c := cookieOf(t, rec)
	if rec.Header().Get("Location") != "/verbatim/" || c.Path != "/verbatim/" || !c.Secure {
		t.Errorf("answer = to %q with %v", rec.Header().Get("Location"), c)
	}
	t.Run("without the slash", func(t *testing.T) {
		rec := open(api, "/verbatim", host)
		if rec.Code != http.StatusSeeOther || rec.Header().Get("Location") != "/verbatim/" {
			t.Errorf("answer = %d to %q", rec.Code, rec.Header().Get("Location"))
		}
	})
	t.Run("page and assets", func(t *testing.T) {
		for _, p := range []string{"/verbatim/", "/verbatim/assets/app.css", "/", "/assets/app.css"} {
			if rec := open(api, p, host); rec.Code != http.StatusOK {
				t.Errorf("%s = %d", p, rec.Code)
			}
		}
	})
	t.Run("ids in the path", func(t *testing.T) {
		ask{method: "DELETE", path: "/verbatim/chats/c1", host: host}.of(api)
		if len(w.calls) != 1 || w.calls[0] != "delete c1" {
			t.Errorf("calls = %v", w.calls)
		}
	})
	t.Run("a path that only begins like it", func(t *testing.T) {
		wantError(t, ask{method: "GET", path: "/verbatimchats", host: host}.of(api), Missing)
	})
}
