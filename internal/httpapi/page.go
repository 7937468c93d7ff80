package httpapi

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed page
var pageFiles embed.FS

// assets are the files of the page, by name.
type assets map[string]asset

type asset struct {
	kind string
	etag string
	body []byte
}

// assetKinds are the types of files that the page may have.
var assetKinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

func loadAssets() assets {
	files, err := pageFiles.ReadDir("page")
	if err != nil {
		panic(err) // the files are part of the program
	}
	all := assets{}
	for _, f := range files {
		b, err := pageFiles.ReadFile("page/" + f.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(b)
		all[f.Name()] = asset{kind: assetKinds[path.Ext(f.Name())], etag: `"` + hex.EncodeToString(sum[:8]) + `"`, body: b}
	}
	return all
}

func (a *API) page(w *reply, e *entry) error {
	if a.base != "" && e.URL.Path == a.base {
		redirect(w, a.base+"/")
		return nil
	}
	serveAsset(w, e, a.assets["index.html"])
	return nil
}

func (a *API) asset(w *reply, e *entry) error {
	name := e.parts[restPart]
	f, ok := a.assets[name]
	if !ok || strings.HasSuffix(name, ".html") {
		return problem(Missing, "")
	}
	serveAsset(w, e, f)
	return nil
}

// serveAsset lets browsers keep a copy and ask each time whether it is still
// good: names stay the same from version to version.
func serveAsset(w *reply, e *entry, f asset) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	if e.Header.Get("If-None-Match") == f.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(f.body)))
	w.WriteHeader(http.StatusOK)
	// A browser that went away has no use for the rest.
	_, _ = w.Write(f.body)
}
