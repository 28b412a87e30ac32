package db

import "golang.org/x/sys/windows"

// FreeBytes returns how many bytes this user can still write in a folder.
func FreeBytes(folder string) (uint64, error) {
	path, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return free, err
}
