pipeline {
  price {
    gpu_hour     = "2.50 USD"
    machine_hour = "0.80 EUR"
  }
}
