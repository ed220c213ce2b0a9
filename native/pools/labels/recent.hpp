// The latest labels in the order in which they were learnt, and the instance whose label is predicted from them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heros {

// A label at some place, counted from the newest one that is kept, which is at 0; the label to be predicted is at
// −ahead. Labels that had not arrived when the instance was predicted are the newer ones: `first` is the place of the
// newest label that may be used.
struct Vantage {
  std::int64_t first = 0;  // labels not yet there, of those that are kept
  std::int64_t ahead = 1;  // how far the label to be predicted is from the newest one that is kept

  std::int64_t distance() const { return first + ahead; }  // from the newest label that may be used
};

// At most `most` labels, end to end; twice as many are held so that the old ones are moved away only now and then.
class RecentLabels {
 public:
  explicit RecentLabels(std::int64_t most = 1) : most_(most) {}

  std::int64_t size() const { return std::min(static_cast<std::int64_t>(labels_.size()), most_); }
  bool has(std::int64_t place) const { return place >= 0 && place < size(); }
  double at(std::int64_t place) const { return *(end() - 1 - place); }
  const double* end() const { return labels_.data() + labels_.size(); }

  void add(double label) {
    if (static_cast<std::int64_t>(labels_.size()) == 2 * most_) labels_.erase(labels_.begin(), labels_.begin() + most_);
    labels_.push_back(label);
  }

  std::vector<double> latest() const { return {end() - size(), end()}; }
  void restore(std::vector<double> labels) { labels_ = std::move(labels); }

 private:
  std::int64_t most_;
  std::vector<double> labels_;
};

}  // namespace heros
