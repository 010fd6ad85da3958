pipeline {
  price {}
}
