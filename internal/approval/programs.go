package approval

import (
	"errors"
	"fmt"
	"strings"
)

// checkProgram refuses a first word that is none of a program of its own.
func checkProgram(word string) error {
	if word == "" {
		return errors.New("its program has no name")
	}
	for i := range len(word) {
		c := word[i]
		if !isName(c) && c != '/' && c != '.' && (i == 0 || c != '-' && c != '+') {
			return fmt.Errorf("its program %q is not named by plain letters and digits", word)
		}
	}
	if listed(shellWords, word) {
		return fmt.Errorf("%q is a word of the shell itself", word)
	}
	return nil
}

// shellWords are no programs: words of the shell's grammar, and builtins that
// run their arguments, change the shell or evaluate what they are given.
const shellWords = `
. alias bg bind break builtin caller case cd command compgen complete compopt continue coproc declare dirs
disown do done elif else enable esac eval exec exit export fc fg fi for foreach function getopts hash history
if in jobs let local logout mapfile namespace nocorrect noglob popd pushd read readarray readonly repeat
return select set shift shopt source suspend test then time times trap typeset ulimit umask unalias unset
until wait while
`

// runners run programs or code that they are given as arguments.
const runners = `
ack ag ansible ant apk apt apt-get ash at awk bash bat batch bazel bazelisk bmake bpython brew bsdtar buck bun
bundle busybox bwrap c++ caffeinate cargo cc chroot chrt clang clang++ clojure cmake cmd conda corepack cpio
crictl cron crontab csh ctest ctr dash dbus-run-session dc deno direnv distrobox dnf doas docker
docker-compose dotnet dpkg dtrace eatmydata ed elixir elvish emacs emacsclient entr env envdir erl eslint ex
exiftool expect fakeroot faketime fd fdfind find firejail fish flatpak flock g++ gawk gcc gdb gem ghc ghci
gmake gnuplot go gosu gradle gradlew groovy gsed gtar guile guix helm hyperfine ionice ip ipython irb java
jest jruby jshell julia just ksh kubectl latexmk launchctl ld ld.so less lldb ltrace lua luajit lualatex lxc
m4 magick make man mawk meson mksh mocha mongo mongosh more mosh mvn mvnw mysql nawk nc ncat nerdctl netcat
nice ninja nix nix-env nix-shell nmap node nodejs nodemon nohup npm npx nsenter nu nvim ocaml octave oksh open
openssl osascript pacman pandoc parallel pdflatex pdksh perf perl php pip pipenv pipx pkexec pnpm pnpx podman
poetry posh powershell pre-commit prettier printf proot protoc proxychains psql pwsh pypy pytest python
pythonw qmake r rake rbash rc rg rlwrap rollup rpm rscript rsync rubocop ruby runghc runuser rustc sash sbt
scala scp screen script sed setarch setpriv setsid sftp sg sh snap socat sort split sqlite ssh sshpass
start-stop-daemon stdbuf strace su sudo svn swift systemctl systemd-run tar task taskset tclsh tcpdump tcsh
terraform tex time timeout tmux toolbox torsocks tox toybox trickle ts-node tsocks tsx unbuffer unshare uv uvx
vagrant valgrind vi view vim vimdiff vite vitest watch watchexec watchman webpack wget wish wsl xargs xdg-open
xelatex xonsh xvfb-run yarn yash yum zip zless zsh zypper
`

// reachers are programs for which more arguments are more to change, to stop
// or to send.
const reachers = `
chattr chgrp chmod chown cp curl dd install kill killall ln mkfs mount mv pkill poweroff reboot rm rmdir
setfacl shred shutdown tee truncate umount unlink
`

// gitPlain are the commands of git that run no program named by an argument
// and write no file that an argument names.
const gitPlain = `add branch checkout commit describe ls-files reset restore rev-parse status switch`

// wantsExact reports whether a rule for the words of a command covers these very
// words only: where the program is one of runners or reachers. It is known by the
// last part of its path, in any case, with or without a version behind it. The
// lists are not complete by nature; docs/approvals.md says what that means.
func wantsExact(words []string) bool {
	if len(words) == 0 {
		return false
	}
	name := strings.ToLower(words[0][strings.LastIndexByte(words[0], '/')+1:])
	name = strings.TrimSuffix(name, ".exe")
	if name == "git" {
		return len(words) < 2 || !listed(gitPlain, words[1])
	}
	bare := strings.TrimRight(name, "0123456789.-")
	return listed(runners, name) || listed(runners, bare) || listed(reachers, name)
}

func listed(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}
