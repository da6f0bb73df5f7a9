// Two threads write one variable. With the argument "ordered" a barrier lies between the writes.
// ThreadSanitizer must report the first and not the second, or the tsan preset proves nothing.
#include <omp.h>

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
  bool const ordered = argc > 1 && std::string_view(argv[1]) == "ordered";
  int shared = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) shared = 1;
    if (ordered) {
#pragma omp barrier
    }
    if (omp_get_thread_num() == 1) shared = 2;
  }
  std::printf("%d\n", shared);
}
