# What an earlier version had: each says what there is in place of it.
pipeline {
  read_ahead = true
  docker {
    host {
      url = "ssh://gpu-a"
    }
    host {
      url = "ssh://gpu-b"
    }
  }
  machines {
    confirm = true
  }
  lanes {
    on_interference = "one_lane"
    lane {
      cores = "0-3"
    }
    lane {
      cores = "4-7"
    }
  }
}
