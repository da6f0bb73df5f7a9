# Linear algebra in R, compared with loops of its own. Prints one line a comparison that fails, and a last line.
wrong <- 0
expect <- function(what, got, expected, tolerance = 1e-10) {
  if (!isTRUE(all.equal(got, expected, tolerance = tolerance))) {
    cat("wrong:", what, "\n")
    wrong <<- wrong + 1
  }
}

loops <- function(a, b) {
  c <- matrix(0, nrow(a), ncol(b))
  for (i in seq_len(nrow(a))) for (j in seq_len(ncol(b))) for (q in seq_len(ncol(a))) c[i, j] <- c[i, j] + a[i, q] * b[q, j]
  c
}

set.seed(1)
random <- function(rows, cols) matrix(runif(rows * cols, -1, 1), rows, cols)

options(matprod = "blas")  # every product goes to dgemm
for (shape in list(c(1, 1, 1), c(7, 5, 3), c(1, 33, 17), c(31, 1, 9), c(13, 64, 65), c(65, 33, 129))) {
  a <- random(shape[1], shape[3])
  b <- random(shape[3], shape[2])
  expect(paste("product", toString(shape)), a %*% b, loops(a, b))
  expect(paste("transpose of the left", toString(shape)), crossprod(t(a), b), loops(a, b))
  expect(paste("transpose of the right", toString(shape)), tcrossprod(a, t(b)), loops(a, b))
}
expect("no columns", random(3, 0) %*% random(0, 2), matrix(0, 3, 2))

for (n in c(1, 17, 130)) {
  a <- random(n, n) + n * diag(n)
  x <- random(n, 3)
  expect(paste("solve", n), solve(a, a %*% x), x)
  expect(paste("inverse", n), solve(a) %*% a, diag(n))
  factors <- qr(a, LAPACK = TRUE)
  expect(paste("QR", n), qr.Q(factors) %*% qr.R(factors), a[, factors$pivot, drop = FALSE])
  triangle <- chol(crossprod(a))
  expect(paste("Cholesky", n), crossprod(triangle), crossprod(a))
  parts <- svd(a)
  expect(paste("SVD", n), parts$u %*% diag(parts$d, n) %*% t(parts$v), a)
}
expect("least squares", unname(coef(lm(y ~ x, data.frame(x = 1:9, y = 2 * (1:9) + 1)))), c(1, 2))
cat(if (wrong == 0) "right\n" else "wrong\n")
