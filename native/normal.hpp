// The standard normal distribution function with the rational approximations of the Cephes library
// (S. L. Moshier). Other stream-learning toolkits use the same: equal splits need equal last bits.
#pragma once

#include <cmath>
#include <cstddef>

namespace heros {

template <std::size_t N>
double polynomial(double x, const double (&coefficients)[N], double leading) {
  double value = leading;
  for (const double c : coefficients) value = value * x + c;
  return value;
}

inline double error_function_small(double x) {  // |x| < 1
  static constexpr double kAbove[] = {9.00260197203842689217e1, 2.23200534594684319226e3, 7.00332514112805075473e3,
                                      5.55923013010394962768e4};
  static constexpr double kBelow[] = {3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3,
                                      2.26290000613890934246e4, 4.92673942608635921086e4};
  const double z = x * x;
  return x * polynomial(z, kAbove, 9.60497373987051638749e0) / polynomial(z, kBelow, 1);
}

inline double complementary_error_function(double x) {  // x >= 0
  static constexpr double kAbove[] = {5.64189564831068821977e-1, 7.46321056442269912687e0, 4.86371970985681366614e1,
                                      1.96520832956077098242e2,  5.26445194995477358631e2, 9.34528527171957607540e2,
                                      1.02755188689515710272e3,  5.57535335369399327526e2};
  static constexpr double kBelow[] = {1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2,
                                      9.75708501743205489753e2, 1.82390916687909736289e3, 2.24633760818710981792e3,
                                      1.65666309194161350182e3, 5.57535340817727675546e2};
  static constexpr double kFarAbove[] = {1.27536670759978104416e0, 5.01905042251180477414e0, 6.16021097993053585195e0,
                                         7.40974269950448939160e0, 2.97886665372100240670e0};
  static constexpr double kFarBelow[] = {2.26052863220117276590e0, 9.39603524938001434673e0,
                                         1.20489539808096656605e1, 1.70814450747565897222e1,
                                         9.60896809063285878198e0, 3.36907645100081516050e0};
  if (x < 1) return 1 - error_function_small(x);
  const double tail = std::exp(-x * x);
  if (x < 8) return tail * polynomial(x, kAbove, 2.46196981473530512524e-10) / polynomial(x, kBelow, 1);
  return tail * polynomial(x, kFarAbove, 5.64189583547755073984e-1) / polynomial(x, kFarBelow, 1);
}

// P(Z <= a).
inline double normal_probability(double a) {
  constexpr double kRootHalf = 7.07106781186547524401e-1;
  const double x = a * kRootHalf, z = std::fabs(x);
  if (z < kRootHalf) return 0.5 + 0.5 * error_function_small(x);
  const double tail = 0.5 * complementary_error_function(z);
  return x > 0 ? 1 - tail : tail;
}

}  // namespace heros
