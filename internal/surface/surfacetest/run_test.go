package surfacetest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// defectOf names the defect that TestToy is to have.
const defectOf = "SURFACETEST_DEFECT"

// TestToy shows that the suite passes for a platform with every ability.
func TestToy(t *testing.T) {
	Run(t, newToyKit(os.Getenv(defectOf)))
}

// TestSuiteFindsDefects runs the suite against surfaces with one defect each, in
// processes of their own: the case that is about it must fail.
func TestSuiteFindsDefects(t *testing.T) {
	for defect, found := range map[string]string{
		"counts bytes":                       "the_same_Markdown",
		"makes a key of its own":             "the_same_post_again_is_shown_once",
		"mixes chats":                        "a_post_for_one_chat_is_in_no_other",
		"cuts text":                          "posts_of_every_length",
		"tries again":                        "send,_cut",
		"sends for an edit":                  "edit,_fine",
		"believes a gateway":                 "send,_gateway_taken",
		"reads the status alone":             "send,_limit_inside",
		"shows its token":                    "send,_cut",
		"logs its token":                     "send,_cut",
		"takes a broken call for a lost one": "send,_lost",
		"waits too short":                    "a_limit_that_is_waited_for_exactly",
		"keeps the markup":                   "send,_markup_refused",
		"finds nothing gone":                 "a_post_that_a_person_deleted_is_gone",
		"reads too much":                     "what_it_wrote_can_be_read_back",
		"takes a beginning for the whole":    "what_it_wrote_can_be_read_back",
		"ends silently":                      "listening_ends_when_it_is_told_to",
		"gives up":                           "asking,_gateway",
		"keeps its place in memory":          "what_was_written_while_nobody_listened",
		"moves on too early":                 "what_could_not_be_stored_is_given_again",
		"trims":                              "what_people_write_comes_once_each",
		"gives twice":                        "what_people_write_comes_once_each",
		"overlooks changes":                  "a_changed_message_is_told",
		"tells nobody of a press":            "a_press_of_a_button",
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestToy$/"+found, "-test.timeout=60s")
			cmd.Env = append(os.Environ(), defectOf+"="+defect)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestToy/") {
				t.Errorf("the suite does not find it: %v\n%s", err, out)
			}
		})
	}
}
