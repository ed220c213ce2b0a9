// One Hoeffding tree (Domingos and Hulten 2000, VFDT): prediction and training.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "pools/hoeffding/bayes.hpp"
#include "pools/hoeffding/change.hpp"
#include "pools/hoeffding/memory.hpp"

namespace heros {

struct TreeArrays;

enum class LeafPrediction : int { majority, naive_bayes, adaptive };

struct TreeSettings {
  std::int64_t max_bytes = 0;
  std::int32_t grace_period = 200;
  double split_confidence = 1e-7;
  double tie_threshold = 0.05;
  Criterion criterion = Criterion::information_gain;
  LeafPrediction prediction = LeafPrediction::adaptive;
  bool binary_splits = false;
  std::int32_t max_depth = -1;  // -1: no limit
  bool on_change = false;       // leaves split when their accuracy changes, not when a bound is reached
  Search search = {};
};

class HoeffdingTree : public TreeMemory {
 public:
  // Where an instance arrives: a leaf, an absent branch, or a split whose feature is missing.
  struct Place {
    std::int32_t node = 0, above = 0, depth = 0;
  };

  HoeffdingTree() = default;
  HoeffdingTree(const TreeSettings& settings, const TreeLayout& layout)
      : TreeMemory(settings.max_bytes, layout), settings_(settings) {}

  const TreeSettings& settings() const { return settings_; }
  // Changes the settings. The tree must already satisfy the new byte limit.
  void change(const TreeSettings& settings) { settings_ = settings, max_bytes_ = settings.max_bytes; }

  Place find(const double* x) const {
    Place place;
    const Node* node = nodes_.data();
    while (node->splits()) {
      const double v = x[node->feature()];
      if (std::isnan(v)) break;
      place.above = place.node;
      place.node = node->link + node->branch(v);
      ++place.depth;
      node = &nodes_[place.node];
    }
    return place;
  }

  // The class counts used for a prediction at a place. For an absent branch these are the counts of the split above.
  const double* counts_at(const TreeLayout& layout, const Place& place) const {
    return counts(layout, nodes_[place.node].test == Node::kAbsent ? place.above : place.node);
  }

  // Whether naive Bayes predicts at a place. The leaf must have statistics. Adaptive leaves use naive Bayes or the
  // majority, whichever had more correct predictions.
  bool answers_by_bayes(const Place& place) const {
    if (settings_.prediction == LeafPrediction::majority || !nodes_[place.node].observes()) return false;
    const double* record = leaves_.reals(nodes_[place.node].link);
    return settings_.prediction == LeafPrediction::naive_bayes || !(record[kMajorityHits] > record[kBayesHits]);
  }

  // Computes the logarithms of the naive Bayes votes at an active leaf. Returns the class with the highest vote.
  int bayes_votes(const TreeLayout& layout, const Place& place, const TreeInstance& instance, double* votes) const {
    const double* base = leaves_.reals(nodes_[place.node].link) + kBases;
    const double* seen = counts(layout, place.node);
    return log_votes({layout, blocks_, blocks_of(place.node), seen, base, base + layout.classes}, instance, votes);
  }

  // Trains on an instance of class y at `place`, with weight `times`. bayes: the prediction of naive Bayes there, or -1
  // if not yet computed. votes: scratch memory, one double per class.
  void train(const TreeLayout& layout, const TreeInstance& instance, int y, const Place& place, int bayes,
             double* votes, std::int32_t times = 1) {
    Node& node = nodes_[place.node];
    if (node.splits()) return;  // the split's feature is missing, so no leaf can learn
    if (node.test == Node::kAbsent) node = {0, Node::kLeaf, Node::kFresh};
    if (node.link != Node::kInactive) {
      const bool bayes_hit = (bayes >= 0 ? bayes : bayes_vote(layout, instance, place, votes)) == y;
      if (open_observers(layout, place.node, y)) {
        const bool changed = record_hits(layout, place.node, y, bayes_hit, times);
        count(layout, place.node, y, times);
        update_statistics(layout, instance, place.node, y, times);
        if (settings_.on_change ? changed : due(layout, place.node)) look_for_split(layout, place);
        return;
      }
    }
    count(layout, place.node, y, times);
    if (due(layout, place.node)) {
      nodes_[place.node].value = weight(layout, place.node);
      reconsider(layout, place.node);
    }
  }

  // Prefetches the memory that a prediction at a place reads.
  void prefetch(const TreeLayout& layout, const Place& place) const {
    __builtin_prefetch(counts(layout, place.node));
    if (!nodes_[place.node].observes()) return;
    __builtin_prefetch(leaves_.reals(nodes_[place.node].link));
    __builtin_prefetch(leaves_.ints(nodes_[place.node].link));
  }

  void grow(const TreeLayout& before, const TreeLayout& after);  // grow.hpp

  TreeArrays arrays() const;  // state.hpp
  void adopt(TreeArrays arrays, const TreeSettings& settings, const TreeLayout& layout);

 private:
  void count(const TreeLayout& layout, int node, int y, std::int32_t times) {
    counts(layout, node)[y] += times;
    lengths_[node] = std::max(lengths_[node], y + 1);
  }

  bool due(const TreeLayout& layout, int node) const {
    return weight(layout, node) - nodes_[node].value >= settings_.grace_period;
  }

  // The class predicted by naive Bayes at an active leaf; without statistics, the majority.
  int bayes_vote(const TreeLayout& layout, const TreeInstance& instance, const Place& place, double* votes) const {
    const bool asked = settings_.prediction == LeafPrediction::adaptive ||
                       (settings_.prediction == LeafPrediction::naive_bayes && settings_.on_change);
    if (!asked) return 0;
    if (!nodes_[place.node].observes()) return highest(counts(layout, place.node), layout.classes);
    return bayes_votes(layout, place, instance, votes);
  }

  // Counts correct predictions. Returns whether the accuracy changed, for a tree that splits on change.
  bool record_hits(const TreeLayout& layout, int node, int y, bool bayes_hit, std::int32_t times) {
    double* record = leaves_.reals(nodes_[node].link);
    const bool hit = lengths_[node] > 0 && highest(counts(layout, node), layout.classes) == y;
    const bool by_bayes = settings_.prediction == LeafPrediction::naive_bayes ||
                          (settings_.prediction == LeafPrediction::adaptive && !(record[kMajorityHits] > record[kBayesHits]));
    record[kMajorityHits] += hit ? times : 0;
    record[kBayesHits] += bayes_hit ? times : 0;
    return settings_.on_change &&
           LeafChange(record + kBases + 2 * layout.classes).add(by_bayes ? bayes_hit : hit, times, settings_.split_confidence);
  }

  void update_statistics(const TreeLayout& layout, const TreeInstance& instance, int node, int y,
                         std::int32_t times) {
    const int b = blocks_of(node)[y];
    if (counts(layout, node)[y] <= kMostObserved)
      observe(layout, ClassBlock(layout, blocks_.reals(b), blocks_.ints(b)), instance, times);
    refresh_base(layout, node, y);
  }

  void refresh_base(const TreeLayout& layout, int node, int y) {
    const int b = blocks_of(node)[y];
    const LogBase log = log_base(layout, ConstClassBlock(layout, blocks_.reals(b), blocks_.ints(b)));
    double* base = leaves_.reals(nodes_[node].link) + kBases;
    base[y] = log.base + std::log(counts(layout, node)[y]);
    base[layout.classes + y] = log.headroom;
  }

  LeafStatistics statistics(const TreeLayout& layout, int node) const {
    LeafStatistics leaf{layout, counts(layout, node), {}, {}};
    for (int c = 0; c < layout.classes; ++c) {
      const int b = blocks_of(node)[c];
      if (b < 0) continue;
      leaf.blocks.emplace_back(layout, blocks_.reals(b), blocks_.ints(b));
      leaf.classes.push_back(c);
    }
    return leaf;
  }

  void look_for_split(const TreeLayout& layout, const Place& place) {
    const int node = place.node;
    const double n = nodes_[node].value = weight(layout, node);
    const bool deep = settings_.max_depth >= 0 && place.depth >= settings_.max_depth;
    if (deep || classes_present(layout, node) < 2 || !room_for_split(layout, node, 2)) return;
    SplitSearch search(settings_.criterion, settings_.binary_splits, settings_.search, node, n);
    const LeafStatistics leaf = statistics(layout, node);
    const SplitSearch::Result found = search(leaf);
    const double bound = hoeffding_bound(search.range(lengths_[node]), n);
    const double gap = found.best.merit - found.second;
    if (!settings_.on_change && found.any && !(gap > bound || bound < settings_.tie_threshold))
      return put_off(node, n, gap, bound);
    // No split is better than the leaf, which restarts with its current counts, as in MOA.
    if (found.best.feature < 0) return close_observers(layout, node);
    if (!std::isfinite(found.best.merit)) return;
    if (room_for_split(layout, node, found.best.branches)) split(layout, node, found.best, leaf, search);
  }

  // A quick tree delays its next search until half of the instances have arrived that the bound needs to fall below the
  // gap or the tie threshold (local split-time prediction: Losing, Wersing and Hammer 2018).
  void put_off(int node, double n, double gap, double bound) {
    if (!settings_.search.quick) return;
    const double ratio = bound / std::max(settings_.tie_threshold, gap > 0 ? gap : 0);
    const double lacking = n * std::min(ratio * ratio - 1, kLongestWait);
    nodes_[node].value = n + std::max(lacking / 2 - settings_.grace_period, 0.0);
  }

  // ε = √(R² ln(1/δ) / 2n).
  double hoeffding_bound(double range, double n) const {
    return std::sqrt(range * range * std::log(1 / settings_.split_confidence) / (2 * n));
  }

  void split(const TreeLayout& layout, int node, const Split& split, const LeafStatistics& leaf, SplitSearch& search) {
    std::vector<double> dealt;
    std::vector<std::int32_t> lengths;
    search.distribute(leaf, split, dealt, lengths);
    close_observers(layout, node);
    const int first = add_nodes(layout, split.branches);
    std::copy(dealt.begin(), dealt.end(), counts(layout, first));
    for (int b = 0; b < split.branches; ++b) {
      lengths_[first + b] = lengths[b];
      const bool absent = split.test == Test::each_value && lengths[b] == 0;
      nodes_[first + b] = {weight(layout, first + b), absent ? Node::kAbsent : Node::kLeaf, Node::kFresh};
    }
    nodes_[node] = {split.value, 4 * split.feature + static_cast<std::int32_t>(split.test), first};
    account(layout);
    make_room(layout, 0, -1);
  }

  void move_observers(const TreeLayout& before, const HoeffdingTree& old, int from, const TreeLayout& after, int to);
  void prune(const TreeLayout& before, const TreeLayout& after);
  int least_seen_split(const TreeLayout& layout) const;
  void collapse(const TreeLayout& layout, int node);

  void check_nodes(const TreeLayout& layout) const;
  void check_records(const TreeLayout& layout) const;
  void check_statistics(const TreeLayout& layout);

  static constexpr double kLongestWait = 100;  // a multiple of the leaf's weight

  TreeSettings settings_;
};

}  // namespace heros
