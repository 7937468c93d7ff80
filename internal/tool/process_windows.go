package tool

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

const shellName = "cmd"

// shell hands the line over as it is: cmd doesn't read arguments as other
// programs do.
func shell(line string) *exec.Cmd {
	cmd := exec.Command("cmd")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /D /S /C "` + line + `"`, HideWindow: true}
	return cmd
}

// processes is a job, which holds the command and all that it starts.
type processes struct{ job windows.Handle }

// startProcesses starts cmd and puts it into a job that ends with Verbatim. What
// the command starts before it is in the job, within its first moments, is not.
func startProcesses(cmd *exec.Cmd, _ string) (*processes, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	p := &processes{job: job}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		p.close()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		p.close()
		return nil, err
	}
	if err := p.add(cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *processes) add(id int) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(id))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h) //nolint:errcheck // there is nothing to do about it
	return windows.AssignProcessToJobObject(p.job, h)
}

func (p *processes) running() bool {
	var figures accounting
	err := windows.QueryInformationJobObject(p.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&figures)), uint32(unsafe.Sizeof(figures)), nil)
	return err == nil && figures.active > 0
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	userTime, kernelTime, periodUserTime, periodKernelTime int64
	pageFaults, total, active, terminated                  uint32
}

// ask kills at once: processes without a window can't be asked.
func (p *processes) ask() { p.kill() }

func (p *processes) kill() { _ = windows.TerminateJobObject(p.job, 1) }

func (p *processes) close() { _ = windows.CloseHandle(p.job) }

// verdict returns an error if a command has not ended well.
func verdict(state *os.ProcessState) error {
	if state.Success() {
		return nil
	}
	return fmt.Errorf("the command ended with status %d", state.ExitCode())
}
