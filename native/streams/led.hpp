// The LED generator: digits of a seven-segment display with noise, and 17 irrelevant bits.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "streams/java_random.hpp"

namespace heros {

class LED {
 public:
  static constexpr int kSegments = 7;
  static constexpr int kFeatures = 24;

  LED() : LED(0, 1, 0) {}
  LED(int drift, std::int64_t seed, int noise) : drift_(drift), noise_(noise), random_(seed) {}

  int features() const { return kFeatures; }

  // Writes one instance to x and returns its class.
  int draw(double* x) {
    // Bit 6 is the first segment.
    static constexpr std::uint8_t lit[10] = {0b1110111, 0b0010010, 0b1011101, 0b1011011, 0b0111010,
                                             0b1101011, 0b1101111, 0b1010010, 0b1111111, 0b1111011};
    const int digit = random_.next_int(10);
    for (int i = 0; i < kSegments; ++i) {
      const bool broken = 1 + random_.next_int(100) <= noise_;
      const bool on = (lit[digit] >> (kSegments - 1 - i)) & 1;
      x[position(i)] = on != broken ? 1.0 : 0.0;
    }
    for (int i = kSegments; i < kFeatures; ++i) x[position(i)] = random_.next_int(2);
    return digit;
  }

  template <class Archive>
  void fields(Archive& archive) {
    archive("drift", drift_);
    archive("noise", noise_);
    random_.fields(archive);
  }
  void check() const {
    require(drift_ >= 0 && drift_ <= kSegments, "drift");
    require(noise_ >= 0 && noise_ <= 100, "noise");
    random_.check();
  }

 private:
  // The first `drift` segments are swapped with the first `drift` irrelevant bits.
  int position(int i) const {
    if (i < drift_) return i + kSegments;
    if (i >= kSegments && i < kSegments + drift_) return i - kSegments;
    return i;
  }

  std::int32_t drift_;
  std::int32_t noise_;
  JavaRandom random_;
};

}  // namespace heros
