pipeline {
  read_ahead = true
  slurm {
    nodes = 2
  }
}
