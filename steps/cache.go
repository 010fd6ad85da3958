package steps

// Cache is what a server keeps from launch to launch, such as what it compiled: a folder of the machine or
// a volume of the daemon. It is no part of what a server is, so that sides with a cache each are no
// different servers for that.
type Cache struct {
	// Folder of the machine, meant from the pipeline file's folder, or Volume of the daemon.
	Folder, Volume string
	// Path that a container has it at, and Env the variable that names the folder to a process.
	Path, Env string
}

// Name is the folder or volume.
func (c Cache) Name() string {
	if c.Volume != "" {
		return "volume " + c.Volume
	}
	return c.Folder
}

// Use is what the server knows it by.
func (c Cache) Use() string { return c.Path + c.Env }
