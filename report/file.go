package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrSpecial says that a folder, a device or a link is where a file should come
// to be. Nothing overwrites it: renaming a file over it would destroy it.
var ErrSpecial = errors.New("is not a regular file")

// File is a file that comes into being whole: it is written under the name
// path.part and renamed by Commit.
type File struct {
	f     *os.File
	path  string
	force bool
	done  bool
}

// CreateFile starts a file. It refuses a path where something is already, with
// an error that wraps fs.ErrExist, unless force is set, and in any case where it is
// no regular file, with one that wraps ErrSpecial. Close must be called in
// any case.
func CreateFile(path string, force bool) (*File, error) {
	if err := vacant(path, force); err != nil {
		return nil, err
	}
	f, err := os.Create(path + ".part")
	if err != nil {
		return nil, err
	}
	return &File{f: f, path: path, force: force}, nil
}

// existsError says in plain words that there is something where a file should go.
type existsError struct{ path string }

func (e *existsError) Error() string { return e.path + " exists already" }

// Is makes it an fs.ErrExist.
func (e *existsError) Is(target error) bool { return target == fs.ErrExist }

// vacant returns nil where a file may be made, or replaced with force.
func vacant(path string, force bool) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return fmt.Errorf("%s: %w", path, ErrSpecial)
	case !force:
		return &existsError{path}
	}
	return nil
}

// Write implements io.Writer.
func (f *File) Write(b []byte) (int, error) { return f.f.Write(b) }

// Commit makes the data durable and gives the file its name.
func (f *File) Commit() error {
	if err := f.f.Sync(); err != nil {
		return err
	}
	if err := f.f.Close(); err != nil {
		return err
	}
	if err := vacant(f.path, f.force); err != nil {
		return err
	}
	if err := os.Rename(f.path+".part", f.path); err != nil {
		return err
	}
	f.done = true
	return nil
}

// Close gives up what was not committed and removes it. After Commit it does
// nothing.
func (f *File) Close() error {
	if f.done {
		return nil
	}
	f.done = true
	err := f.f.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil // Commit got as far as closing
	}
	return errors.Join(err, os.Remove(f.path+".part"))
}

// WriteFile creates a file as CreateFile does, has write fill it and commits it.
// When write fails nothing is left behind.
func WriteFile(path string, force bool, write func(io.Writer) error) (err error) {
	f, err := CreateFile(path, force)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := write(f); err != nil {
		return err
	}
	return f.Commit()
}
