package turnpike

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestReadme runs the example, which has the lines of the README.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(string(readme), "\n") {
		code, isCode := strings.CutPrefix(line, "    ")
		if !isCode && lines != nil {
			break
		}
		if isCode {
			lines = append(lines, "\t"+strings.ReplaceAll(code, "    ", "\t"))
		}
	}
	example, err := os.ReadFile("example/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(example, []byte(strings.Join(lines, "\n"))) {
		t.Errorf("example/main.go does not have\n%s", strings.Join(lines, "\n"))
	}
	output, err := exec.Command("go", "run", "./example", startNode(t).address).CombinedOutput()
	if err != nil || !bytes.Contains(output, []byte("alice has 950 left")) || !bytes.Contains(output, []byte("proved: bob has 50")) {
		t.Errorf("%v\n%s", err, output)
	}
}
