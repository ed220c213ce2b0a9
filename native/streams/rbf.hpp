// The random RBF generator: instances around moving centroids.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "streams/java_random.hpp"

namespace heros {

class RandomRBF {
 public:
  RandomRBF() : RandomRBF(1, 1, 1, 0, 0, 0, 0.0) {}
  RandomRBF(int classes, int features, int centroids, std::int64_t model_seed, std::int64_t instance_seed,
            int drifting, double speed)
      : classes_(classes),
        features_(features),
        speed_(speed),
        centres_(static_cast<std::size_t>(centroids) * features),
        directions_(static_cast<std::size_t>(std::min(drifting, centroids)) * features),
        labels_(centroids),
        deviations_(centroids),
        weights_(centroids),
        random_(instance_seed) {
    place(model_seed);
    aim(model_seed);
  }

  int features() const { return features_; }

  // Writes one instance to x and returns its class.
  int draw(double* x) {
    move();
    const std::size_t centroid = choose();
    double square = 0.0;
    for (int j = 0; j < features_; ++j) {
      x[j] = random_.next_double() * 2.0 - 1.0;
      square += x[j] * x[j];
    }
    const double length = random_.next_gaussian() * deviations_[centroid];
    const double scale = length / std::sqrt(square);
    const double* centre = &centres_[centroid * features_];
    for (int j = 0; j < features_; ++j) x[j] = centre[j] + x[j] * scale;
    return labels_[centroid];
  }

  template <class Archive>
  void fields(Archive& archive) {
    archive("classes", classes_);
    archive("features", features_);
    archive("speed", speed_);
    archive("centres", centres_);
    archive("directions", directions_);
    archive("labels", labels_);
    archive("deviations", deviations_);
    archive("weights", weights_);
    random_.fields(archive);
  }
  void check() const {
    const std::size_t centroids = labels_.size();
    require(classes_ >= 1, "classes");
    require(features_ >= 1, "features");
    require(std::isfinite(speed_) && speed_ >= 0, "speed");
    require(centroids >= 1 && all(labels_, [&](int label) { return label >= 0 && label < classes_; }), "labels");
    require(centres_.size() == centroids * features_ && all(centres_, finite), "centres");
    require(directions_.size() <= centres_.size() && directions_.size() % features_ == 0 && all(directions_, finite),
            "directions");
    require(deviations_.size() == centroids && all(deviations_, finite), "deviations");
    const auto weight = [](double w) { return std::isfinite(w) && w >= 0; };
    const double total = std::accumulate(weights_.begin(), weights_.end(), 0.0);  // choose() draws below this total
    require(weights_.size() == centroids && all(weights_, weight) && std::isfinite(total) && total > 0, "weights");
    random_.check();
  }

 private:
  static bool finite(double value) { return std::isfinite(value); }
  template <class T, class Rule>
  static bool all(const std::vector<T>& values, Rule rule) {
    return std::all_of(values.begin(), values.end(), rule);
  }

  void place(std::int64_t seed) {
    JavaRandom model(seed);
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      for (int j = 0; j < features_; ++j) centres_[i * features_ + j] = model.next_double();
      labels_[i] = model.next_int(classes_);
      deviations_[i] = model.next_double();
      weights_[i] = model.next_double();
    }
  }

  // Draws a direction of length 1 for each drifting centroid. The random numbers restart from the model's seed.
  void aim(std::int64_t seed) {
    JavaRandom model(seed);
    for (std::size_t start = 0; start < directions_.size(); start += features_) {
      double* direction = &directions_[start];
      double square = 0.0;
      for (int j = 0; j < features_; ++j) {
        direction[j] = model.next_double();
        square += direction[j] * direction[j];
      }
      const double norm = std::sqrt(square);
      for (int j = 0; j < features_; ++j) direction[j] /= norm;
    }
  }

  // Moves the centroids. A coordinate that would leave [0, 1] stops at the edge and reverses.
  void move() {
    double* centre = centres_.data();
    double* direction = directions_.data();
    const std::size_t n = directions_.size();
    for (std::size_t i = 0; i < n; ++i) {
      const double moved = centre[i] + direction[i] * speed_;
      const bool outside = (moved > 1.0) | (moved < 0.0);
      direction[i] = outside ? -direction[i] : direction[i];
      centre[i] = moved > 1.0 ? 1.0 : moved < 0.0 ? 0.0 : moved;
    }
  }

  std::size_t choose() {
    double total = 0.0;
    for (const double weight : weights_) total += weight;
    const double value = random_.next_double() * total;
    std::size_t next = 0;
    for (double sum = 0.0; sum <= value && next < weights_.size(); ++next) sum += weights_[next];
    return next - 1;
  }

  std::int32_t classes_;
  std::int32_t features_;
  double speed_;
  std::vector<double> centres_;     // (centroids, features)
  std::vector<double> directions_;  // (drifting, features)
  std::vector<std::int32_t> labels_;
  std::vector<double> deviations_;
  std::vector<double> weights_;
  JavaRandom random_;
};

}  // namespace heros
