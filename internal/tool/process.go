package tool

// The processes of a command are kept together by what the system has for that.
// Each platform has a file with the type processes and these:
//
//	shell           the shell that runs a command line
//	startProcesses  starts it, apart from our own terminal and signals
//	running         whether anything of it still runs, the shell included
//	ask             asks all of it to end, where processes can be asked
//	kill            kills all of it
//	close           gives up what it took to keep it together
//	verdict         says how a shell that has ended did
//
// On Unix a command is a session of its own, hence a process group too. A second
// shell, the keeper, outlives Verbatim for a moment and kills the group if
// Verbatim is gone without having done it. What leaves the group on purpose is
// found on Linux only, through /proc: by its session, its parents and the mark
// in its environment. A daemon that drops all three at once escapes, as does one
// that became another user. On other Unix systems all that left the group
// escapes. On Windows a job holds all of it and the system kills the job when
// Verbatim is gone.
