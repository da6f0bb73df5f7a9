# Turns clang's assembly of an instrumented kernel file into what a session watches: the sanitizers' functions under
# names of our own, and after each `__shared__` array a gap and a line in the list of arrays.
BEGIN { gap = 8192; arrays = 0; shared = 0 }
{
  gsub(/__tsan_/, "tandem_simt_")
  gsub(/__sanitizer_cov_trace_pc/, "tandem_simt_block")
  if ($0 ~ /[ \t]mem(cpy|move|set)(@PLT)?$/) sub(/mem/, "tandem_simt_mem")
}
/^[ \t]*\.(section|text|data|bss)/ { shared = $0 ~ /\.section[ \t]+tandem_shared,/ }
{ print }
shared && /^[ \t]*\.size[ \t]/ {
  split($0, words, /[ \t,]+/)
  symbol = words[3]
  bytes = words[4]
  arrays++
  printf "\t.zero\t%d\n", gap
  printf "\t.pushsection\t.rodata.tandem_names,\"a\",@progbits\n"
  printf ".Ltandem_name_%d:\n\t.asciz\t\"%s\"\n\t.popsection\n", arrays, symbol
  printf "\t.pushsection\ttandem_arrays,\"aw\",@progbits\n\t.p2align\t3\n"
  printf "\t.quad\t%s\n\t.quad\t%s\n\t.quad\t.Ltandem_name_%d\n\t.popsection\n", symbol, bytes, arrays
}
