package approval_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/approval"
)

// simple are commands with the words that any POSIX shell gives them.
var simple = []struct {
	name, command string
	want          []string
}{
	{"one word", "ls", []string{"ls"}},
	{"blanks around and between", " \tgit   status\t-s ", []string{"git", "status", "-s"}},
	{"quoted word", `git "status" `, []string{"git", "status"}},
	{"quote inside a word", `git st"at"u's'`, []string{"git", "status"}},
	{"escaped letter", `git st\atus`, []string{"git", "status"}},
	{"escaped blank", `ls my\ file`, []string{"ls", "my file"}},
	{"one quoted word is one word", `"git"`, []string{"git"}},
	{"empty words", `ls "" '' ""''`, []string{"ls", "", "", ""}},
	{"operators in quotes", `echo ';' "a|b&c" '$(x)' '` + "`x`" + `' "<>()"`, []string{"echo", ";", "a|b&c", "$(x)", "`x`", "<>()"}},
	{"escaped operators", `echo \; \| \& \$x \* \~ \# \" \'`, []string{"echo", ";", "|", "&", "$x", "*", "~", "#", `"`, "'"}},
	{"double-quoted escapes", `echo "\$x \"y\" \\ \` + "`" + ` \n \'"`, []string{"echo", `$x "y" \ ` + "`" + ` \n \'`}},
	{"backslash in single quotes", `echo '\n\'`, []string{"echo", `\n\`}},
	{"patterns in quotes", `ls '*' "?" '[a]' '{a,b}' '~' '#x'`, []string{"ls", "*", "?", "[a]", "{a,b}", "~", "#x"}},
	{"tab in quotes", "echo 'a\tb'", []string{"echo", "a\tb"}},
	{"options and paths", "grep -rn --include=x.go a/b_c.d,e:f@g+h%i -- .", []string{"grep", "-rn", "--include=x.go", "a/b_c.d,e:f@g+h%i", "--", "."}},
	{"parent of a commit", "git show HEAD~1", []string{"git", "show", "HEAD~1"}},
	{"assignment as an argument", "make CC=gcc", []string{"make", "CC=gcc"}},
	{"words of other scripts", "echo über 你好 'naïve été' мир", []string{"echo", "über", "你好", "naïve été", "мир"}},
	{"look-alikes are letters", "echo a；b ａ＆ｂ", []string{"echo", "a；b", "ａ＆ｂ"}},
	{"combining accent", "echo e\u0301", []string{"echo", "e\u0301"}},
	{"escaped letter beyond ASCII", `echo \é`, []string{"echo", "é"}},
	{"path of a program", "./bin/g++-12 -v", []string{"./bin/g++-12", "-v"}},
}

func TestWords(t *testing.T) {
	for _, row := range simple {
		t.Run(row.name, func(t *testing.T) {
			got, err := approval.Words(row.command)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("words of %q (-want +got):\n%s", row.command, diff)
			}
		})
	}
}

func TestWordsRefuses(t *testing.T) {
	rows := map[string][]string{
		"nothing":       {"", " ", "\t", `""`, `'' x`},
		"operators":     {"git status;rm x", "git status; rm x", "ls;", ";ls", "ls & rm x", "ls&", "ls && rm x", "ls || rm x", "ls | sh", "ls|&sh", "(ls)", "ls)", "{ ls; }", "! ls", "ls !x"},
		"line breaks":   {"git status\nrm x", "git status\n rm", "git status\r\nrm x", "git status\rrm x", "ls\vrm", "ls\frm", "ls\n", "\nls", "echo 'a\nb'", "echo \"a\nb\"", "ls \\\n-l", "ls\u0085rm", "ls\u2028rm", "ls\u2029rm"},
		"redirections":  {"ls > x", "ls>x", "ls 2>&1", "ls >> x", "cat < x", "cat << EOF", "cat <<< x", "ls >| x", "ls &> x", "cat <(ls)", "ls 2>x", "ls <>x"},
		"substitutions": {"echo $(rm x)", "echo `rm x`", `echo "$(rm x)"`, "echo \"`rm x`\"", "echo $((1+1))", "echo $[1+1]"},
		"variables":     {"echo $HOME", "echo ${HOME}", `echo "$HOME"`, "echo $", `echo "$"`, "echo a$b", `echo $"x"`, `echo $'\x41'`, "echo $1", "$SHELL x"},
		"patterns":      {"ls *", "ls a?", "ls [a-z]", "ls a]", "rm -- *", "/bin/l?", "[ -f x ]", `"[" -f x ]`},
		"braces":        {"echo {a,b}", "echo {1..3}", "echo }", "echo a{b"},
		"homes":         {"ls ~", "ls ~root", "ls ~/x", "echo a=~", "echo a:~/x", "echo a=b:~", "ls ''~", "~/x", "echo é~"},
		"equals first":  {"ls =x", "=ls", "ls a =b"},
		"comments":      {"ls # x", "#ls", "ls a#b"},
		"assignments":   {"FOO=x cmd", "FOO= cmd", "FOO+=x cmd", "A=1", `"FOO=x" cmd`, "a[0]=x cmd", "PATH=. ls"},
		"quotes":        {"ls '", `ls "`, `ls "a'`, `ls 'a"`, `ls "a\"`, `ls \`, `ls "\`, `\`},
		"functions":     {"f() { ls; }", "f () ls", "function f"},
		"history":       {"ls !!", "ls ^a^b", "ls HEAD^"},
		"shell words":   {"if x", "then x", "while x", "for x", "case x", "until x", "do x", "done", "fi", "esac", "select x", "time ls", "coproc ls", ". x", "source x", "eval ls", "exec ls", "command ls", "builtin ls", "trap x", "alias x", "set -x", "export X", "cd /", `"eval" ls`, `\eval ls`, "e'v'al ls", "test -f x", "read x", "let x", "unset x"},
		"programs":      {"%1", "-x", "+x ls", "é", "g\u0456t status", "@x", ":", "a,b", "'my prog' x", `"git status"`, `git\ status`},
		"unseen":        {"git\u00a0status", "git \u00a0status", "ls \u200b", "ls a\u200bb", "ls \u200e", "ls '\u202e'", "ls \ufeff", "ls \u3000x", "ls \u2003x", "ls \u3164", "ls \u115f", "ls \u2800", "ls a\ufe0f", "ls \u034f", "ls \u00ad", "ls \x00", "ls \x1b[2J", "ls \x7f", "ls \u0080", "ls \ue000", "ls \U000e0041"},
		"bad text":      {"ls \xff", "ls \xed\xa0\x80", "ls \xc3"},
		"length":        {"ls " + strings.Repeat("x", approval.MaxCommand)},
	}
	for name, commands := range rows {
		t.Run(name, func(t *testing.T) {
			for _, c := range commands {
				if got, err := approval.Words(c); err == nil || got != nil {
					t.Errorf("%.40q was read as %q", c, got)
				}
			}
		})
	}
}

// quoted is any run of characters that quotes take from the shell.
var quoted = regexp.MustCompile(`'[^']*'|"(?:[^"\\$` + "`" + `]|\\.)*"|\\.`)

// bare is what may stand outside of quotes.
var bare = regexp.MustCompile(`^[ \tQ0-9A-Za-z_\-+./,:@%=~\x{80}-\x{10ffff}]*$`)

// FuzzWords: what is accepted holds nothing that a shell would act upon, its
// words written anew in quotes are read as the same, more arguments come
// after them, and no operator behind it passes.
func FuzzWords(f *testing.F) {
	for _, row := range simple {
		f.Add(row.command)
	}
	for _, s := range []string{"git status;rm", "ls $(x)", `echo "\"`, `a\`, "a=~", "'", "ls\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, err := approval.Words(s)
		if err != nil {
			if words != nil {
				t.Errorf("%q was refused but gave %q", s, words)
			}
			return
		}
		if outside := quoted.ReplaceAllString(s, "Q"); !bare.MatchString(outside) {
			t.Errorf("%q was read as %q, but holds %q outside of quotes", s, words, outside)
		}
		anew := make([]string, len(words))
		for i, w := range words {
			anew[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		line := strings.Join(anew, " ")
		if len(line)+len(" 'a b'") > approval.MaxCommand {
			return
		}
		if again, err := approval.Words(line); err != nil || !slices.Equal(again, words) {
			t.Errorf("%q: its words %q, written as %q, were read as %q, %v", s, words, line, again, err)
		}
		if more, err := approval.Words(line + " 'a b'"); err != nil || !slices.Equal(more, append(slices.Clone(words), "a b")) {
			t.Errorf("%q with one more argument was read as %q, %v", s, more, err)
		}
		for _, tail := range []string{";rm", "\nrm", "|sh", "&rm", ">x", " $(rm)", "`rm`", "'", `"`, `\`} {
			if got, err := approval.Words(s + tail); err == nil {
				t.Errorf("%q was read as %q", s+tail, got)
			}
		}
	})
}
