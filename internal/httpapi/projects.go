package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"verbatim/internal/chat"
)

// MaxInstructionsBytes is the longest instructions of a project, in UTF-8.
const MaxInstructionsBytes = 100_000

type projectList struct {
	// Projects are all names, those that only conversations have too.
	Projects     []string          `json:"projects"`
	Instructions map[string]string `json:"instructions"`
}

func (a *API) listProjects(w *reply, e *entry) error {
	instructions, err := a.opt.Projects.Projects(e.Context())
	if err != nil {
		return err
	}
	lines, err := a.opt.Library.List(e.Context())
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for name := range instructions {
		names[name] = true
	}
	for _, l := range lines {
		if l.Project != "" {
			names[l.Project] = true
		}
	}
	list := projectList{Projects: slices.Sorted(maps.Keys(names)), Instructions: instructions}
	if list.Projects == nil {
		list.Projects = []string{}
	}
	return writeJSON(w, http.StatusOK, list)
}

// setProject stores a project's instructions. They must be there: a project
// would lose those it has by a request that only meant to name it.
func (a *API) setProject(w *reply, e *entry) error {
	o, err := readObject(w, e, smallBodyBytes)
	if err != nil {
		return err
	}
	name, _, err := o.label("project")
	if err != nil {
		return err
	}
	instructions, there, err := o.text("instructions")
	switch {
	case err != nil:
		return err
	case name == "":
		return problem(Invalid, "project is missing; it holds the name.")
	case !there:
		return problem(Invalid, "instructions is missing; it may be empty.")
	case len(instructions) > MaxInstructionsBytes:
		return problem(Invalid, fmt.Sprintf("instructions may have at most %d bytes.", MaxInstructionsBytes))
	}
	if err := a.opt.Projects.SetProject(e.Context(), name, instructions); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, done{OK: true})
}

// fileChat files a conversation under a project, or takes it out of its own.
func (a *API) fileChat(w *reply, e *entry) error {
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	o, err := readObject(w, e, smallBodyBytes)
	if err != nil {
		return err
	}
	project, there, err := o.label("project")
	if err == nil && !there {
		err = problem(Invalid, "project is missing; an empty one takes the chat out of its project.")
	}
	if err != nil {
		return err
	}
	if err := a.opt.Commands.Change(e.Context(), c, chat.Patch{Project: &project}); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, done{OK: true})
}
