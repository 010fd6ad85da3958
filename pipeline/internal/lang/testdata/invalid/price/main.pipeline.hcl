pipeline {
  price {
    gpu_hour     = "2.50"
    machine_hour = "1 EURO"
  }
}
