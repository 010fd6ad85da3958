pipeline {
  budget {
    cost = "20 USD"
  }
}
