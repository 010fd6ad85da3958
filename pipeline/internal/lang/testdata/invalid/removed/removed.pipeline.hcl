# Arguments that an earlier version had: each says what there is in place of it.
pipeline {
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
}
