// Sixteen floats in four NEON registers. With a single register, the pipelines would wait for each result.
#pragma once

#include <arm_neon.h>

namespace heros::neon {

using Quad = float32x4_t;
struct Floats {
  static constexpr int lanes = 16;
  Quad a, b, c, d;
};
struct Same {  // one number in all lanes
  Quad all;
  operator Floats() const { return {all, all, all, all}; }
};
template <class Operation>
inline Floats each(Operation f, const Floats& x) {
  return {f(x.a), f(x.b), f(x.c), f(x.d)};
}
template <class Operation>
inline Floats each(Operation f, const Floats& x, const Floats& y) {
  return {f(x.a, y.a), f(x.b, y.b), f(x.c, y.c), f(x.d, y.d)};
}

// Uses pointers: GCC treats vld1q and vst1q as changes of any memory and reloads constants after each.
inline Floats load(const float* p) {
  const Quad* q = reinterpret_cast<const Quad*>(p);
  return {q[0], q[1], q[2], q[3]};
}
inline void store(float* p, const Floats& x) {
  Quad* q = reinterpret_cast<Quad*>(p);
  q[0] = x.a, q[1] = x.b, q[2] = x.c, q[3] = x.d;
}
inline Same broadcast(float x) { return {vdupq_n_f32(x)}; }

inline Same operator*(Same x, Same y) { return {vmulq_f32(x.all, y.all)}; }
inline Same operator+(Same x, Same y) { return {vaddq_f32(x.all, y.all)}; }
inline Floats operator*(const Floats& x, const Floats& y) {
  return each([](Quad p, Quad q) { return vmulq_f32(p, q); }, x, y);
}
inline Floats operator+(const Floats& x, const Floats& y) {
  return each([](Quad p, Quad q) { return vaddq_f32(p, q); }, x, y);
}
inline Floats fma(const Floats& x, const Floats& y, const Floats& z) {  // x·y + z
  return {vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b), vfmaq_f32(z.c, x.c, y.c), vfmaq_f32(z.d, x.d, y.d)};
}
inline Floats fnma(const Floats& x, const Floats& y, const Floats& z) {  // z − x·y
  return {vfmsq_f32(z.a, x.a, y.a), vfmsq_f32(z.b, x.b, y.b), vfmsq_f32(z.c, x.c, y.c), vfmsq_f32(z.d, x.d, y.d)};
}
inline Floats relu(const Floats& x) {  // keeps NaN
  return each([](Quad p) { return vmaxq_f32(p, vdupq_n_f32(0)); }, x);
}
inline Floats where_positive(const Floats& x, const Floats& y) {  // x > 0 ? y : 0
  return each([](Quad p, Quad q) { return vreinterpretq_f32_u32(vandq_u32(vcgtzq_f32(p), vreinterpretq_u32_f32(q))); },
              x, y);
}
inline Floats root(const Floats& x) {
  return each([](Quad p) { return vsqrtq_f32(p); }, x);
}

// m / d, within 2 ulp. Square roots and divisions share a unit that takes 7 cycles for each. Three quarters of the
// divisions use Newton's iteration on an 8-bit estimate instead, which balances the pipelines.
inline Floats over(const Floats& m, const Floats& d) {
  const auto newton = [](Quad p, Quad q) {
    const Quad rough = vrecpeq_f32(q), better = vmulq_f32(rough, vrecpsq_f32(q, rough));  // vrecps(q, r) = 2 − q·r
    return vmulq_f32(vmulq_f32(p, better), vrecpsq_f32(q, better));
  };
  return {newton(m.a, d.a), newton(m.b, d.b), newton(m.c, d.c), vdivq_f32(m.d, d.d)};
}

// Adds products to a sum in one register. A sum per output then takes a quarter of the memory traffic.
inline Quad add_products(const Floats& x, const Floats& y, Quad sum) {
  const Quad even = vfmaq_f32(vmulq_f32(x.a, y.a), x.c, y.c), odd = vfmaq_f32(vmulq_f32(x.b, y.b), x.d, y.d);
  return vaddq_f32(sum, vaddq_f32(even, odd));
}

}  // namespace heros::neon
