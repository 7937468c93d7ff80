package zulipfake

import (
	"fmt"
	"io"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"
)

// maxUpload is the largest file in bytes (https://zulip.com/api/upload-file).
const maxUpload = 25 << 20

// linkTime is how long the address of a file is good without a key
// (https://zulip.com/api/get-file-temporary-url).
const linkTime = time.Minute

type file struct {
	mime string
	data []byte
}

type link struct {
	path string
	till time.Time
}

var odd = regexp.MustCompile(`[^\p{L}\p{N}_.-]+`)

// keep stores a file and returns its address.
func (s *Server) keep(name, mime string, data []byte) string {
	s.minted++
	at := fmt.Sprintf("2/ab/%024d/%s", s.minted, odd.ReplaceAllString(name, "-"))
	s.files[at] = file{mime: mime, data: data}
	return "/user_uploads/" + at
}

// upload takes a file.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseMultipartForm(maxUpload + 1<<20); err != nil {
		refuse(w, http.StatusBadRequest, "BAD_REQUEST", "You must specify a file to upload")
		return
	}
	for _, all := range r.MultipartForm.File {
		if len(r.MultipartForm.File) != 1 || len(all) != 1 {
			refuse(w, http.StatusBadRequest, "BAD_REQUEST", "You may only upload one file at a time")
			return
		}
		f, err := all[0].Open()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer f.Close()
		data, err := io.ReadAll(f)
		if err != nil || len(data) > maxUpload {
			refuse(w, http.StatusBadRequest, "BAD_REQUEST", "Uploaded file is larger than the allowed limit of 25 MiB")
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		at := s.keep(all[0].Filename, all[0].Header.Get("Content-Type"), data)
		succeed(w, map[string]any{"url": at, "uri": at, "filename": path.Base(at)})
		return
	}
	refuse(w, http.StatusBadRequest, "BAD_REQUEST", "You must specify a file to upload")
}

// temporary gives an address that is good for a minute without a key.
func (s *Server) temporary(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := r.PathValue("path")
	if _, ok := s.files[at]; !ok {
		refuse(w, http.StatusNotFound, "BAD_REQUEST", "File not found.")
		return
	}
	s.minted++
	token := fmt.Sprintf("t%d", s.minted)
	s.links[token] = link{path: at, till: s.o.Now().Add(linkTime)}
	succeed(w, map[string]any{"url": "/user_uploads/temporary/" + token + "/" + path.Base(at)})
}

// download gives a file by such an address. Whoever sends the key along shows it
// to who must not see it.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.links[r.PathValue("token")]
	if !ok || !s.o.Now().Before(l.till) || r.Header.Get("Authorization") != "" || !strings.HasSuffix(r.URL.Path, "/"+path.Base(l.path)) {
		w.WriteHeader(http.StatusForbidden)
		w.Write([]byte("<html>Invalid token</html>"))
		return
	}
	f := s.files[l.path]
	if f.mime != "" {
		w.Header().Set("Content-Type", f.mime)
	}
	w.Write(f.data)
}

// Uploads returns what is in the files that people and the bot put on the server,
// by address.
func (s *Server) Uploads() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for at, f := range s.files {
		out["/user_uploads/"+at] = string(f.data)
	}
	return out
}

// Lose drops a file, as a person may.
func (s *Server) Lose(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, strings.TrimPrefix(address, "/user_uploads/"))
}
