// The latest labels in the order of training, and the position of the label to predict.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heros {

// Positions are counted back from the newest stored label, which is at 0. The label to predict is at −ahead. Some
// stored labels may have arrived after the prediction; the newest usable label is at `first`.
struct Vantage {
  std::int64_t first = 0;  // number of stored labels that must not be used
  std::int64_t ahead = 1;  // distance of the label to predict from the newest stored label

  std::int64_t distance() const { return first + ahead; }  // from the newest usable label
};

// At most `most` labels in one array. It holds twice as many, so that old labels are rarely moved out.
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
