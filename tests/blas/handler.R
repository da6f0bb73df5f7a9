# A wrong size in the preloaded library's dgemm: R's own xerbla_ makes it an R error, which can be caught.
dyn.load(Sys.getenv("LD_PRELOAD"))
tryCatch(
  .Fortran("dgemm", "N", "N", -1L, 1L, 1L, 1, 1, 1L, 1, 1L, 1, 1, 1L),
  error = function(e) cat(conditionMessage(e), "\n", sep = "")
)
cat("still here\n")
