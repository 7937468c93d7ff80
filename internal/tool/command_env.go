package tool

import (
	"runtime"
	"slices"
	"strings"
)

// markName is the variable by which the processes of a call are found again
// when they have left its process group. Its value is random and means nothing.
const markName = "VERBATIM_CALL"

// ordinary are the variables that a command sees: where programs, the home and
// temporary files are, and how to speak to people. Everything else may be a
// secret, whatever its name.
var ordinary = []string{
	"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL",
}

// ordinaryWindows are those that programs of Windows don't start without.
var ordinaryWindows = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
}

// environment returns what a command sees of the process's variables ("NAME=
// value" each): the ordinary ones and those named in more, no secrets, and the
// mark of its call.
func environment(all, more []string, mark string) []string {
	env := []string{"TERM=dumb", markName + "=" + mark}
	for _, variable := range all {
		name, _, _ := strings.Cut(variable, "=")
		if mayPass(name, more) {
			env = append(env, variable)
		}
	}
	return env
}

func mayPass(name string, more []string) bool {
	upper := strings.ToUpper(name)
	if name == "" || upper == "TERM" || secretName(upper) {
		return false
	}
	if slices.Contains(more, name) || slices.Contains(ordinary, name) || strings.HasPrefix(name, "LC_") {
		return true
	}
	// Names have no case there.
	return runtime.GOOS == "windows" && (slices.Contains(ordinary, upper) || slices.Contains(ordinaryWindows, upper))
}

// secretName reports whether a variable, its name in upper case, is the
// program's own or sounds like a secret.
func secretName(upper string) bool {
	if strings.HasPrefix(upper, "VERBATIM_") {
		return true
	}
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"}, func(word string) bool {
		return strings.Contains(upper, word)
	})
}
