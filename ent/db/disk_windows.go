package db

import (
	"syscall"
	"unsafe"
)

var getDiskFreeSpace = syscall.NewLazyDLL("kernel32.dll").NewProc("GetDiskFreeSpaceExW")

// FreeBytes returns how many bytes this user can still write in a folder.
func FreeBytes(folder string) (uint64, error) {
	path, err := syscall.UTF16PtrFromString(folder)
	if err != nil {
		return 0, err
	}
	var left uint64
	done, _, err := getDiskFreeSpace.Call(uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&left)), 0, 0)
	if done == 0 {
		return 0, err
	}
	return left, nil
}
