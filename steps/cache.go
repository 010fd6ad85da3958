package steps

// Cache holds the place of data that a server reuses across launches, such as compiled code: a folder of the
// machine or a volume of the daemon. It does not count towards the server's identity, so sides that differ
// only in their caches are equal.
type Cache struct {
	// Folder is a folder of the machine, relative to the pipeline file's folder. Volume is a volume of the
	// daemon.
	Folder, Volume string
	// Path is the mount point in a container. Env is the variable that names the folder to a process.
	Path, Env string
}

// Name returns the folder or volume.
func (c Cache) Name() string {
	if c.Volume != "" {
		return "volume " + c.Volume
	}
	return c.Folder
}

// Use returns how the server finds the cache: the path or the variable.
func (c Cache) Use() string { return c.Path + c.Env }
