package scheduler

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestDefaultsAreDescribed compares the table of settings in
// docs/ARCHITECTURE.md with the defaults.
func TestDefaultsAreDescribed(t *testing.T) {
	text, err := os.ReadFile("../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	var o Options
	o.defaults()
	v := reflect.ValueOf(o)
	rows := regexp.MustCompile("(?m)^\\| (`[A-Z][A-Za-z`, ]*`) \\| ([0-9a-z, ]+) \\|").FindAllStringSubmatch(string(text), -1)
	told := 0
	for _, row := range rows {
		values := strings.Split(row[2], ", ")
		for i, name := range strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ") {
			f := v.FieldByName(name)
			if !f.IsValid() || i >= len(values) || fmt.Sprint(f.Interface()) != values[i] {
				t.Errorf("documented: %s is %s; it is %v", name, row[2], f)
			}
			told++
		}
	}
	for i := range v.NumField() {
		if v.Field(i).CanInt() {
			told--
		}
	}
	if told != 0 {
		t.Errorf("%d settings too many or too few are documented", told)
	}
}
