package jobs

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestPayloadIsDescribed keeps docs/FORMATS.md complete: every field of the
// payload and its format stand there.
func TestPayloadIsDescribed(t *testing.T) {
	b, err := os.ReadFile("../docs/FORMATS.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	for i := range reflect.TypeFor[Task]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[Task]().Field(i).Tag.Get("json"), ",")
		if !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("docs/FORMATS.md does not describe the field %q", name)
		}
	}
	for _, want := range []string{TaskKind, fmt.Sprintf("format of the payload, %d", TaskFormat), fmt.Sprintf("format, %d", RecordFormat)} {
		if !strings.Contains(doc, want) {
			t.Errorf("docs/FORMATS.md does not say %q", want)
		}
	}
}
