// A vector of floats, of the widest kind of the target instruction set. Each instruction set has its own namespace, so
// that variants share no symbols.
#pragma once

#include <cstddef>

#if defined(__AVX512F__)
#define HEROS_ISA avx512
#include <immintrin.h>
#elif defined(__AVX2__) && defined(__FMA__)
#define HEROS_ISA avx2
#include <immintrin.h>
#else
#define HEROS_ISA baseline
#endif

namespace heros::HEROS_ISA {

#if defined(__AVX2__)
inline float sum(__m256 v) {
  const __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}
#endif

#if defined(__AVX512F__)

struct Floats {
  static constexpr int lanes = 16;
  __m512 v;
};
// Some intrinsics have a full mask, because GCC 12 warns about an undefined source in the intrinsics without a mask.
inline constexpr __mmask16 kAll = 0xFFFF;
inline Floats load(const float* p) { return {_mm512_load_ps(p)}; }
inline void store(float* p, Floats a) { _mm512_store_ps(p, a.v); }
inline Floats broadcast(float x) { return {_mm512_set1_ps(x)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Floats operator+(Floats a, Floats b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }   // a·b + c
inline Floats fnma(Floats a, Floats b, Floats c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }  // c − a·b
inline Floats relu(Floats a) { return {_mm512_maskz_max_ps(kAll, _mm512_setzero_ps(), a.v)}; }  // this order keeps NaN
inline Floats where_positive(Floats a, Floats b) {  // a > 0 ? b : 0
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a.v, _mm512_setzero_ps(), _CMP_GT_OQ), b.v)};
}
// m / (2·(√v + ε)) for v > 0, given 2ε. The factor 2 saves a multiplication; the learning rate includes it. Newton's
// iteration on the 14-bit estimates is within 2 ulp and keeps the divider free: with s = v·r ≈ √v, √v = s + r·(v −
// s²)/2 up to the square of the error of s.
inline Floats half_over_root(Floats m, Floats v, Floats twice_epsilon) {
  const __m512 two = _mm512_set1_ps(2.0F);
  const __m512 r = _mm512_maskz_rsqrt14_ps(kAll, v.v);
  const __m512 s = _mm512_mul_ps(v.v, r);
  const __m512 d = _mm512_fmadd_ps(r, _mm512_fnmadd_ps(s, s, v.v), _mm512_fmadd_ps(two, s, twice_epsilon.v));
  const __m512 q = _mm512_maskz_rcp14_ps(kAll, d);
  return {_mm512_mul_ps(m.v, _mm512_mul_ps(q, _mm512_fnmadd_ps(d, q, two)))};
}
inline float sum(Floats a) {
  alignas(64) float lanes[16];
  _mm512_store_ps(lanes, a.v);
  return sum(_mm256_add_ps(_mm256_load_ps(lanes), _mm256_load_ps(lanes + 8)));
}

#elif defined(__AVX2__) && defined(__FMA__)

struct Floats {
  static constexpr int lanes = 8;
  __m256 v;
};
inline Floats load(const float* p) { return {_mm256_load_ps(p)}; }
inline void store(float* p, Floats a) { _mm256_store_ps(p, a.v); }
inline Floats broadcast(float x) { return {_mm256_set1_ps(x)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Floats operator+(Floats a, Floats b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats fnma(Floats a, Floats b, Floats c) { return {_mm256_fnmadd_ps(a.v, b.v, c.v)}; }
inline Floats relu(Floats a) { return {_mm256_max_ps(_mm256_setzero_ps(), a.v)}; }
inline Floats where_positive(Floats a, Floats b) {
  return {_mm256_and_ps(_mm256_cmp_ps(a.v, _mm256_setzero_ps(), _CMP_GT_OQ), b.v)};
}
inline Floats half_over_root(Floats m, Floats v, Floats twice_epsilon) {
  return {_mm256_div_ps(m.v, _mm256_fmadd_ps(_mm256_set1_ps(2.0F), _mm256_sqrt_ps(v.v), twice_epsilon.v))};
}
inline float sum(Floats a) { return sum(a.v); }

#else

struct Floats {
  static constexpr int lanes = 4;
  typedef float Vector __attribute__((vector_size(16)));
  Vector v;
};
inline Floats load(const float* p) { return {*reinterpret_cast<const Floats::Vector*>(p)}; }
inline void store(float* p, Floats a) { *reinterpret_cast<Floats::Vector*>(p) = a.v; }
inline Floats broadcast(float x) { return {Floats::Vector{x, x, x, x}}; }
inline Floats operator*(Floats a, Floats b) { return {a.v * b.v}; }
inline Floats operator+(Floats a, Floats b) { return {a.v + b.v}; }
inline Floats operator-(Floats a, Floats b) { return {a.v - b.v}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {a.v * b.v + c.v}; }
inline Floats fnma(Floats a, Floats b, Floats c) { return {c.v - a.v * b.v}; }
inline Floats relu(Floats a) { return {a.v < 0 ? a.v - a.v : a.v}; }
inline Floats where_positive(Floats a, Floats b) { return {a.v > 0 ? b.v : Floats::Vector{}}; }
inline Floats half_over_root(Floats m, Floats v, Floats twice_epsilon) {
  Floats::Vector root;
  for (int l = 0; l < 4; ++l) root[l] = __builtin_sqrtf(v.v[l]);
  return {m.v / (2.0F * root + twice_epsilon.v)};
}
inline float sum(Floats a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }

#endif

}  // namespace heros::HEROS_ISA
