package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/chat"
	"verbatim/internal/library"
)

func TestProjects(t *testing.T) {
	w, api := newWorld(t, nil)
	w.projects = map[string]string{}
	if got := on("GET", "/projects").of(api).Body.String(); got != `{"projects":[],"instructions":{}}`+"\n" {
		t.Errorf("none = %s", got)
	}
	w.projects = map[string]string{"Ops": "Answer in haiku.", "Empty": ""}
	w.lines = []library.Line{{ID: "c1", Project: "Zoo"}, {ID: "c2"}, {ID: "c3", Project: "Ops"}, {ID: "c4", Project: "Zoo"}}
	want := `{"projects":["Empty","Ops","Zoo"],"instructions":{"Empty":"","Ops":"Answer in haiku."}}` + "\n"
	if got := on("GET", "/projects").of(api).Body.String(); got != want {
		t.Errorf("projects = %s, want %s", got, want)
	}
}

func TestChangesToProjects(t *testing.T) {
	rows := []struct {
		name string
		ask  ask
		kind Kind
		want []string
	}{
		{"instructions", post("/projects", `{"project":" Ops ","instructions":" In\nhaiku. "}`), "", []string{`project " Ops " " In\nhaiku. "`}},
		{"none", post("/projects", `{"project":"Ops","instructions":""}`), "", []string{`project "Ops" ""`}},
		{"no instructions", post("/projects", `{"project":"Ops"}`), Invalid, nil},
		{"null instructions", post("/projects", `{"project":"Ops","instructions":null}`), Invalid, nil},
		{"no project", post("/projects", `{"instructions":"x"}`), Invalid, nil},
		{"empty project", post("/projects", `{"project":"","instructions":"x"}`), Invalid, nil},
		{"blank project", post("/projects", `{"project":" ","instructions":"x"}`), Invalid, nil},
		{"list for instructions", post("/projects", `{"project":"Ops","instructions":["x"]}`), Invalid, nil},
		{"long instructions", post("/projects", fmt.Sprintf(`{"project":"Ops","instructions":%q}`, strings.Repeat("x", MaxInstructionsBytes+1))), Invalid, nil},
		{"without the token", ask{method: "POST", path: "/projects", body: `{"project":"Ops","instructions":"x"}`, noToken: true}, Unauthenticated, nil},

		{"file", post("/project/c1", `{"project":"Ops"}`), "", []string{"change c1 map[Project:Ops]"}},
		{"take out", post("/project/c1", `{"project":""}`), "", []string{"change c1 map[Project:]"}},
		{"file under nothing", post("/project/c1", `{}`), Invalid, nil},
		{"file under null", post("/project/c1", `{"project":null}`), Invalid, nil},
		{"file under a blank", post("/project/c1", `{"project":"\t"}`), Invalid, nil},
		{"file what can't be", post("/project/%C3%A9", `{"project":"Ops"}`), Invalid, nil},
		{"file without the token", ask{method: "POST", path: "/project/c1", body: `{"project":"Ops"}`, noToken: true}, Unauthenticated, nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			rec := row.ask.of(api)
			if row.kind != "" {
				wantError(t, rec, row.kind)
			} else if got := rec.Body.String(); rec.Code != http.StatusOK || got != `{"ok":true}`+"\n" {
				t.Errorf("answer = %d %s", rec.Code, got)
			}
			if diff := cmp.Diff(row.want, w.calls); diff != "" {
				t.Error(diff)
			}
		})
	}
	w, api := newWorld(t, nil)
	w.err = &chat.Error{Code: chat.Missing, Message: "There is no chat c1."}
	wantError(t, post("/project/c1", `{"project":"Ops"}`).of(api), Missing)
}
