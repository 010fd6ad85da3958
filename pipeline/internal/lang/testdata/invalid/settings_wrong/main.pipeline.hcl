pipeline {
  budget {
    gpu_time = "2 parsecs" # one error, not a second one of a budget that bounds nothing
  }
  variance {
    from = "calibration.json" # a name that servers have for extends, and variance does not
  }
}
