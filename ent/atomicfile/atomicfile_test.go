package atomicfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/atomicfile"
)

// forms are Create and CreateFolder, which follow the same rules.
var forms = map[string]func(path string, write func(into func(name, text string) error) error) error{
	"file": func(path string, write func(func(name, text string) error) error) error {
		return atomicfile.Create(path, func(temporary string) error {
			return write(func(name, text string) error {
				f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_APPEND, 0)
				if err != nil {
					return err
				}
				_, err = io.WriteString(f, name+"="+text+"\n")
				return errors.Join(err, f.Close())
			})
		})
	},
	"folder": func(path string, write func(func(name, text string) error) error) error {
		return atomicfile.CreateFolder(path, func(temporary string) error {
			return write(func(name, text string) error {
				return os.WriteFile(filepath.Join(temporary, name), []byte(text), 0o600)
			})
		})
	},
}

// content is a file's text, or a line for each file of a folder.
func content(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	if !info.IsDir() {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
	var all strings.Builder
	files, err := os.ReadDir(path)
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(path, file.Name()))
		require.NoError(t, err)
		all.WriteString(file.Name() + "=" + string(text) + "\n")
	}
	return all.String()
}

// namesIn returns the names in a folder, hidden ones too.
func namesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// The call that ends first creates the whole, and the other fails.
func TestOverlappingCallsAreWholeOrRefused(t *testing.T) {
	t.Parallel()
	for form, create := range forms {
		parent := t.TempDir()
		path := filepath.Join(parent, "it")
		err := create(path, func(slow func(name, text string) error) error {
			if err := slow("a", "slow"); err != nil {
				return err
			}
			require.NoError(t, create(path, func(fast func(name, text string) error) error {
				return errors.Join(fast("a", "fast"), fast("b", "fast"))
			}), form)
			return slow("b", "slow")
		})
		require.ErrorIs(t, err, fs.ErrExist, form)
		require.Equal(t, "a=fast\nb=fast\n", content(t, path), form)
		require.Equal(t, []string{"it"}, namesIn(t, parent), form)
	}
}

// No call removes the temporary folder of a running one.
func TestOfManyCallsOneWins(t *testing.T) {
	t.Parallel()
	for form, create := range forms {
		parent := t.TempDir()
		path := filepath.Join(parent, "it")
		const calls = 40
		var all sync.WaitGroup
		errs := make([]error, calls)
		for i := range calls {
			all.Go(func() {
				errs[i] = create(path, func(into func(name, text string) error) error {
					return errors.Join(into("a", "1"), into("b", "2"))
				})
			})
		}
		all.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				require.ErrorIs(t, err, fs.ErrExist, form)
			}
		}
		require.Equal(t, 1, won, form)
		require.Equal(t, "a=1\nb=2\n", content(t, path), form)
		require.Equal(t, []string{"it"}, namesIn(t, parent), form)
	}
}

// A file, a folder with files, or a symbolic link with or without a target.
func TestWhatIsThereIsLeftAlone(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	within := func(name string) string { return filepath.Join(folder, name) }
	require.NoError(t, os.WriteFile(within("file"), []byte("mine"), 0o600))
	require.NoError(t, os.Mkdir(within("full"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(within("full"), "mine"), nil, 0o600))
	require.NoError(t, os.Mkdir(within("empty"), 0o700))
	require.NoError(t, os.Link(within("file"), within("hardlink")))
	there := []string{"file", "full", "hardlink"}
	for link, to := range map[string]string{"to-file": "file", "to-empty": "empty", "to-nothing": "nothing"} {
		if err := os.Symlink(to, within(link)); err == nil { // Windows lets few users make links
			there = append(there, link)
		}
	}
	before := namesIn(t, folder)
	for form, create := range forms {
		for _, name := range there {
			err := create(within(name), func(func(name, text string) error) error {
				return errors.New("it is refused before the work")
			})
			require.ErrorIs(t, err, fs.ErrExist, "%s %s", form, name)
		}
		require.ErrorIs(t, create(filepath.Join(within("nowhere"), "it"), nil), fs.ErrNotExist, form)
		require.Error(t, create(filepath.Join(within("file"), "it"), nil), form)
	}
	require.Equal(t, before, namesIn(t, folder))

	// Even what appears at the path while the call runs.
	for form, create := range forms {
		for kind, make := range map[string]func(path string) error{
			"file": func(path string) error { return os.WriteFile(path, []byte("mine"), 0o600) },
			"folder": func(path string) error {
				return errors.Join(os.Mkdir(path, 0o700), os.Mkdir(filepath.Join(path, "mine"), 0o700))
			},
			"link": func(path string) error { return os.Symlink("nothing", path) },
		} {
			parent := t.TempDir()
			path := filepath.Join(parent, "it")
			if runtime.GOOS == "windows" && kind == "link" {
				continue
			}
			err := create(path, func(into func(name, text string) error) error { return errors.Join(into("a", "1"), make(path)) })
			require.ErrorIs(t, err, fs.ErrExist, "%s beside a %s", form, kind)
			info, err := os.Lstat(path)
			require.NoError(t, err)
			require.Equal(t, map[string]fs.FileMode{"file": 0, "folder": fs.ModeDir, "link": fs.ModeSymlink}[kind], info.Mode().Type(),
				"%s beside a %s", form, kind)
			require.Equal(t, []string{"it"}, namesIn(t, parent))
		}
	}
}

// The path of a folder may end with a slash or contain "..", and the folder may exist if it is empty.
func TestTheNamesOfAFolder(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{false, true} {
		for _, name := range []string{"it", "it" + string(filepath.Separator), "it/.", "other/../it"} {
			parent := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(parent, "other"), 0o700))
			if there {
				require.NoError(t, os.Mkdir(filepath.Join(parent, "it"), 0o755))
			}
			require.NoError(t, forms["folder"](parent+string(filepath.Separator)+name, func(into func(name, text string) error) error {
				return into("a", "1")
			}), name)
			require.Equal(t, "a=1\n", content(t, filepath.Join(parent, "it")))
			require.Equal(t, []string{"it", "other"}, namesIn(t, parent), name)
			if info, err := os.Stat(filepath.Join(parent, "it")); runtime.GOOS != "windows" {
				require.NoError(t, err)
				require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
			}
		}
	}
}

func TestTheLongestName(t *testing.T) {
	t.Parallel()
	for form, create := range forms {
		path := filepath.Join(t.TempDir(), strings.Repeat("n", 255))
		require.NoError(t, create(path, func(into func(name, text string) error) error { return into("a", "1") }), form)
		require.Equal(t, "a=1\n", content(t, path), form)
	}
}

func TestAFailureLeavesNothing(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	for form, create := range forms {
		parent := t.TempDir()
		err := create(filepath.Join(parent, "it"), func(into func(name, text string) error) error {
			return errors.Join(into("a", "1"), full)
		})
		require.ErrorIs(t, err, full, form)
		require.Empty(t, namesIn(t, parent), form)
	}
}

// The next call in the same parent folder removes it, whatever its path, and leaves that of a running call.
func TestWhatADeadCallLeftIsRemoved(t *testing.T) {
	t.Parallel()
	const variable = "NEWFILE_TEST_PATH"
	if path := os.Getenv(variable); path != "" { // the child process, which the test kills
		t.Log(atomicfile.CreateFolder(path, func(temporary string) error {
			err := os.WriteFile(filepath.Join(temporary, "a"), []byte("half"), 0o600)
			_, _ = os.Stdout.WriteString("begun\n")
			_, _ = io.Copy(io.Discard, os.Stdin)
			return err
		}))
		return
	}
	parent := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), variable+"="+filepath.Join(parent, "killed"))
	in, err := child.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	_, err = io.ReadFull(out, make([]byte, len("begun\n")))
	require.NoError(t, err)
	write := func(into func(name, text string) error) error { return into("a", "1") }

	require.NoError(t, forms["file"](filepath.Join(parent, "beside"), write))
	require.Len(t, namesIn(t, parent), 2, "the other process runs")
	require.NoError(t, child.Process.Kill())
	_ = child.Wait()
	require.Len(t, namesIn(t, parent), 2)
	// A process that dies before it locks its folder leaves an empty one; one that dies while it removes it may leave it
	// without the lock's file.
	require.NoError(t, os.Mkdir(filepath.Join(parent, ".storefront-new-1"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(parent, ".storefront-new-2", "new"), 0o700))
	require.NoError(t, forms["file"](filepath.Join(parent, "another"), write))
	require.Equal(t, []string{"another", "beside"}, namesIn(t, parent))
}
