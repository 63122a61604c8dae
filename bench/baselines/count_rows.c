/* Counting as a user would write it in C: both comparisons in one loop over each row, whose counts
 * go into arrays that were made before. Compilers make vectors of the inner loop.
 */
#include <stdint.h>

void count_rows(const float* scores, const int64_t* targets, int64_t rows, int64_t columns,
                int threads, int64_t* above, int64_t* tied) {
  (void)threads;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
#endif
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = scores + i * columns;
    const float true_score = row[targets[i]];
    int32_t greater = 0, equal = 0; /* in 64 bits it takes longer */
    for (int64_t j = 0; j < columns; ++j) {
      greater += row[j] > true_score;
      equal += row[j] == true_score;
    }
    above[i] = greater;
    tied[i] = equal;
  }
}
