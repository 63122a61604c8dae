// The scores of vectors by their definition: one pair after the other, and for each pair one component after the other.
//
// Compile without contraction, so that every operation rounds where it stands. `fma` and `sqrt` round once, as the C
// standard asks (annex F). All vectors lie one after the other; bias and means may be null.
#include <math.h>
#include <stdint.h>
#include <string.h>

// The sum of the squares of x / 2^down.
static double squares(const double* x, int64_t d, int down) {
    double sum = 0;
    for (int64_t k = 0; k < d; ++k) {
        const double scaled = ldexp(x[k], -down), square = scaled * scaled;
        sum = sum + square;
    }
    return sum;
}

// The exponent of the largest component, for vectors whose squares are too small or too large; 0 for all others.
static int exponent(const double* x, int64_t d, double sum) {
    double most = 0;
    int found = 0;
    for (int64_t k = 0; k < d; ++k) most = fmax(most, fabs(x[k]));
    if (!(sum < 0x1p-960 || sum == INFINITY) || most == 0 || most == INFINITY) return 0;
    frexp(most, &found);
    return found - 1;
}

// -arcosh(1 + 2 ratio)^2 with a longer significand than that of the result.
static double poincare(double squared_difference, double q, double e) {
    const double a = 1 - q, b = 1 - e;
    if (!(a > 0 && b > 0)) return NAN;
    const double ratio = squared_difference / (a * b);
    if (!isfinite(ratio)) return -ratio;
    const long double y = 2 * (long double)ratio;
    const long double distance = log1pl(y + sqrtl(y * (y + 2)));
    return (double)-(distance * distance);
}

#define DEFINE(T, suffix)                                                                                      \
    static T pair##suffix(const char* name, const T* q, const T* e, int64_t d, double qq, double ee) {         \
        T sum = 0;                                                                                             \
        if (!strcmp(name, "dot") || !strcmp(name, "cosine")) {                                                 \
            for (int64_t k = 0; k < d; ++k) sum = fma##suffix(q[k], e[k], sum);                                \
            return sum;                                                                                        \
        }                                                                                                      \
        if (!strcmp(name, "l1") || !strcmp(name, "inverse_l1")) {                                              \
            for (int64_t k = 0; k < d; ++k) sum = sum + fabs##suffix(q[k] - e[k]);                             \
            return !strcmp(name, "l1") ? -sum : 1 / (1 + sum);                                                 \
        }                                                                                                      \
        if (!strcmp(name, "complex_l1")) {                                                                     \
            for (int64_t k = 0; k < d; k += 2) {                                                               \
                const T u = q[k] - e[k], v = q[k + 1] - e[k + 1], square = v * v;                              \
                sum = sum + sqrt##suffix(fma##suffix(u, u, square));                                           \
            }                                                                                                  \
            return -sum;                                                                                       \
        }                                                                                                      \
        for (int64_t k = 0; k < d; ++k) {                                                                      \
            const T t = q[k] - e[k];                                                                           \
            sum = fma##suffix(t, t, sum);                                                                      \
        }                                                                                                      \
        if (!strcmp(name, "sql2")) return -sum;                                                                \
        if (!strcmp(name, "l2")) return -sqrt##suffix(sum);                                                    \
        if (!strcmp(name, "inverse_l2")) return 1 / (1 + sqrt##suffix(sum));                                   \
        if (!strcmp(name, "poincare")) return (T)poincare((double)sum, qq, ee);                                \
        return (T)NAN;                                                                                         \
    }                                                                                                          \
                                                                                                               \
    /* Takes vectors in double, which holds those of every dtype, to T; all of them have length `d`. */        \
    static void take##suffix(const char* name, const double* x, int64_t n, int64_t d, T* out, double* sums) {  \
        for (int64_t i = 0; i < n; ++i, x += d, out += d) {                                                    \
            sums[i] = squares(x, d, 0);                                                                        \
            const int down = exponent(x, d, sums[i]);                                                          \
            const double root = sqrt(squares(x, d, down));                                                     \
            for (int64_t k = 0; k < d; ++k) {                                                                  \
                out[k] = (T)(strcmp(name, "cosine") || root == 0 ? x[k] : ldexp(x[k], -down) / root);          \
            }                                                                                                  \
        }                                                                                                      \
    }                                                                                                          \
                                                                                                               \
    /* `work` holds the vectors in T, `sums` one number for each vector: queries, then entities. */            \
    void scores##suffix(const char* name, int64_t nq, int64_t ne, int64_t d, const double* q, const double* e, \
                        const T* bias, const T* q_means, const T* e_means, T* work, double* sums, T* out) {    \
        take##suffix(name, q, nq, d, work, sums);                                                              \
        take##suffix(name, e, ne, d, work + nq * d, sums + nq);                                                \
        for (int64_t i = 0; i < nq; ++i) {                                                                     \
            for (int64_t j = 0; j < ne; ++j) {                                                                 \
                T s = pair##suffix(name, work + i * d, work + (nq + j) * d, d, sums[i], sums[nq + j]);         \
                if (bias) s = s + bias[j];                                                                     \
                if (q_means) {                                                                                 \
                    const T both = q_means[i] + e_means[j], twice = s + s;                                     \
                    s = twice - both;                                                                          \
                }                                                                                              \
                out[i * ne + j] = s;                                                                           \
            }                                                                                                  \
        }                                                                                                      \
    }

DEFINE(float, f)
DEFINE(double, )
