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

func linksOf(path string) (uint64, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	file, err := windows.CreateFile(name, 0, share, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = windows.CloseHandle(file) }()
	var info windows.ByHandleFileInformation
	err = windows.GetFileInformationByHandle(file, &info)
	return uint64(info.NumberOfLinks), err
}
