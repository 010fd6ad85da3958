pipeline {
  budget {}
}
