pipeline {
  price {
    gpu_hour = "2.50 USD"
  }

  budget {
    gpu_time = "0h"
    time     = "-1m"
    cost     = "20 EUR"
  }
}
