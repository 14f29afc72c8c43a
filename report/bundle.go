package report

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Part is one file of a bundle.
type Part struct {
	// Name is the file's name, without a directory.
	Name string
	// Write writes the content.
	Write func(io.Writer) error
}

// sumsName is the list of checksums, in the format of sha256sum.
const sumsName = "SHA256SUMS"

// WriteBundle writes the parts into a directory, which it makes if need be, and
// last of all SHA256SUMS, so that a bundle with checksums is whole. It refuses
// names that are there already unless force is set. "sha256sum -c SHA256SUMS"
// checks a bundle.
func WriteBundle(dir string, parts []Part, force bool) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	sums := make([]string, 0, len(parts))
	for _, p := range parts {
		if p.Name == "" || p.Name == sumsName || filepath.Base(p.Name) != p.Name {
			return fmt.Errorf("%q cannot be the name of a file in a bundle", p.Name)
		}
		if err := vacant(filepath.Join(dir, p.Name), force); err != nil {
			return err
		}
	}
	if err := vacant(filepath.Join(dir, sumsName), force); err != nil {
		return err
	}
	// With force, old checksums must not outlive the files that they are of.
	if err := os.RemoveAll(filepath.Join(dir, sumsName)); err != nil {
		return err
	}
	for _, p := range parts {
		hash := sha256.New()
		err := WriteFile(filepath.Join(dir, p.Name), force, func(w io.Writer) error { return p.Write(io.MultiWriter(w, hash)) })
		if err != nil {
			return fmt.Errorf("bundle: %s: %w", p.Name, err)
		}
		sums = append(sums, fmt.Sprintf("%x  %s\n", hash.Sum(nil), p.Name))
	}
	slices.SortFunc(sums, func(a, b string) int { return strings.Compare(a[sha256.Size*2:], b[sha256.Size*2:]) })
	return WriteFile(filepath.Join(dir, sumsName), force, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(sums, ""))
		return err
	})
}
