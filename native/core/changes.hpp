// Increases of the ensemble's error. Each change records its start and end, the errors per class, and the scores of all
// models: before the change, at the minimum, and after the change.
//
// ADWIN over the loss of every prediction detects a change. Drops of single models, detected by the ADWIN windows of
// their scores, are recorded too. Instances are counted from 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/adwin.hpp"
#include "core/state.hpp"

namespace heros {

// Sums over a range of instances.
struct Tally {
  enum Total { instances, error, loss, squares, end, kTotals };
  std::vector<double> totals = std::vector<double>(kTotals);
  std::vector<double> count, wrong;  // per class
  std::vector<double> scores;        // the scores of all models at the end of the range

  void add(double mistake, double lost, int target) {
    totals[instances] += 1, totals[error] += mistake, totals[loss] += lost, totals[squares] += lost * lost;
    if (target < 0) return;
    if (count.size() <= static_cast<std::size_t>(target)) count.resize(target + 1), wrong.resize(target + 1);
    count[target] += 1, wrong[target] += mistake;
  }
  // Adds another tally, after multiplying this one by `keep`.
  void merge(const Tally& other, double keep = 1) {
    for (int i = instances; i < end; ++i) totals[i] = keep * totals[i] + other.totals[i];
    totals[end] = other.totals[end], scores = other.scores;
    count.resize(std::max(count.size(), other.count.size())), wrong.resize(count.size());
    for (std::size_t c = 0; c < count.size(); ++c) {
      const bool known = c < other.count.size();
      count[c] = keep * count[c] + (known ? other.count[c] : 0);
      wrong[c] = keep * wrong[c] + (known ? other.wrong[c] : 0);
    }
  }

  double size() const { return totals[instances]; }
  double mean(Total of) const { return size() > 0 ? totals[of] / size() : 0.0; }
  double deviation() const { return std::sqrt(std::max(mean(squares) - mean(loss) * mean(loss), 0.0)); }

  bool sound(std::size_t models) const {
    return totals.size() == kTotals && all_of(totals, amount) && count.size() == wrong.size() &&
           all_of(count, amount) && all_of(wrong, amount) && (scores.empty() || scores.size() == models) &&
           all_of(scores, [](double s) { return std::isfinite(s); });
  }
};

// A recorded change. For a change of a single model, `before` and `after` are its score.
struct ChangeEvent {
  enum Number { model, at, since, ended, recovered, before, during, after, kNumbers };  // model -1: the ensemble
  std::vector<double> numbers = std::vector<double>(kNumbers);
  std::vector<double> classes;  // four per class: instances and errors before the change, and during it
  std::vector<double> scores;   // three per model: before, lowest, after

  bool sound(std::size_t models) const {
    return numbers.size() == kNumbers && classes.size() % 4 == 0 && (scores.empty() || scores.size() == 3 * models) &&
           numbers[model] >= -1 && numbers[model] < static_cast<double>(models) && all_of(classes, amount) &&
           all_of(numbers, [](double x) { return std::isfinite(x) && x >= -1; }) &&
           all_of(scores, [](double s) { return std::isfinite(s); });
  }
};

class Changes {
 public:
  static constexpr double kDelta = 1e-5;      // the δ of the ADWIN over losses
  static constexpr int kSegment = 250;        // instances per segment
  static constexpr int kRecent = 4;           // number of latest segments that are not yet part of the usual error
  static constexpr double kKeep = 0.95;       // factor of the usual error's tally at every segment
  static constexpr double kFewest = 100;      // instances needed to know the usual error
  static constexpr double kSame = 2000;       // an alarm this soon after another belongs to the same change
  static constexpr double kDuring = 1000;     // instances after the alarm that measure the error during the change
  static constexpr double kPatience = 20000;  // a change that lasts longer is closed as not recovered
  static constexpr double kBack = 0.1;        // a change ends when at most this share of the rise is left
  static constexpr double kSmallDrop = 0.02;  // smaller drops of a model's score are not recorded
  static constexpr std::size_t kMost = 1000;  // changes that are kept

  explicit Changes(int models = 0) : models_(models), adwin_(1, kDelta, false), tallies_(kFirst) {}

  const std::vector<ChangeEvent>& events() const { return events_; }
  std::int64_t seen() const { return seen_; }

  // Adds a prediction: its mistake (for a class 0 or 1), its loss in [0, 1], the class (-1: a number), and all scores.
  void note(double mistake, double lost, int target, const std::vector<double>& scores) {
    ++seen_;
    if (!std::isfinite(mistake)) mistake = 0;
    if (!(lost >= 0 && lost <= 1)) lost = 1;
    tallies_[kNow].add(mistake, lost, target);
    if (open_ && static_cast<double>(seen_) <= latest().numbers[ChangeEvent::at] + kDuring)
      tallies_[kWhile].add(mistake, lost, target);
    const double before = adwin_.mean(0);
    if (adwin_.update(0, lost) > before && adwin_.changed(0)) alarm(scores);
    if (tallies_[kNow].size() >= kSegment) close_segment(scores);
  }

  // Records that the window of one model's score was cut and the score fell.
  void note_drop(int model, double before, double after, std::int64_t width) {
    if (open_) return;
    for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
      std::vector<double>& numbers = event->numbers;
      if (static_cast<double>(seen_) - numbers[ChangeEvent::at] >= kSame) break;
      if (numbers[ChangeEvent::model] != model) continue;
      numbers[ChangeEvent::during] = numbers[ChangeEvent::after] = after;  // the score is still falling
      return;
    }
    const auto since = static_cast<double>(seen_ - width);
    for (std::size_t s = kFirst; s < tallies_.size(); ++s)
      if (tallies_[s].totals[Tally::end] <= since) before = tallies_[s].scores[model];
    if (before - after < kSmallDrop) return;
    ChangeEvent event;
    event.numbers = {double(model), double(seen_), since, -1, 0, before, after, after};
    keep(std::move(event));
  }

  template <class Archive>
  void fields(Archive& a) {
    a("seen", seen_), a("open", open_), a("alarm", last_alarm_);
    adwin_.fields(a);
    joined(a, "tally_totals", tallies_, &Tally::totals), joined(a, "tally_count", tallies_, &Tally::count);
    joined(a, "tally_wrong", tallies_, &Tally::wrong), joined(a, "tally_scores", tallies_, &Tally::scores);
    joined(a, "event_numbers", events_, &ChangeEvent::numbers), joined(a, "event_classes", events_, &ChangeEvent::classes);
    joined(a, "event_models", events_, &ChangeEvent::scores);
  }
  void check() const {
    const std::size_t m = models_;
    adwin_.check();
    require(countable(seen_) && std::isfinite(last_alarm_) && open_ <= 1, "invalid counts of changes");
    require(tallies_.size() >= kFirst && tallies_.size() <= kFirst + kRecent + 1 &&
                all_of(tallies_, [m](const Tally& tally) { return tally.sound(m); }),
            "invalid sums of the usual error");
    require(std::all_of(tallies_.begin() + kFirst, tallies_.end(), [m](const Tally& t) { return t.scores.size() == m; }),
            "a recent segment must have one score per model");
    require(events_.size() <= kMost && all_of(events_, [m](const ChangeEvent& event) { return event.sound(m); }),
            "changes");
    require(!open_ || (!events_.empty() && events_.back().scores.size() == 3 * m),
            "the current change must have three scores per model");
  }

 private:
  static constexpr int kUsual = 0, kNow = 1, kWhile = 2, kBefore = 3, kFirst = 4;  // from kFirst: recent segments

  ChangeEvent& latest() { return events_.back(); }

  void alarm(const std::vector<double>& scores) {
    const auto now = static_cast<double>(seen_);
    if (open_ && now - last_alarm_ < kSame) {
      last_alarm_ = now;
      return;
    }
    if (open_) finish(scores, false);
    const double since = now - static_cast<double>(adwin_.width(0));
    Tally before = tallies_[kUsual], during;
    for (std::size_t s = kFirst; s < tallies_.size(); ++s) {
      const bool older = tallies_[s].totals[Tally::end] <= since || before.size() < kFewest;
      (older ? before : during).merge(tallies_[s]);
    }
    during.merge(tallies_[kNow]);
    if (before.size() < kFewest || during.mean(Tally::loss) <= before.mean(Tally::loss)) return;
    ChangeEvent event;
    event.numbers = {-1, now, since, -1, 0, before.mean(Tally::error), during.mean(Tally::error), 0};
    event.scores.resize(3 * models_);
    for (int i = 0; i < models_; ++i) {
      event.scores[3 * i] = before.scores.empty() ? scores[i] : before.scores[i];
      event.scores[3 * i + 1] = event.scores[3 * i + 2] = scores[i];
    }
    tallies_[kBefore] = std::move(before), tallies_[kWhile] = std::move(during);
    open_ = 1, last_alarm_ = now;
    keep(std::move(event));
    tell();
  }

  void close_segment(const std::vector<double>& scores) {
    Tally& now = tallies_[kNow];
    now.totals[Tally::end] = static_cast<double>(seen_);
    now.scores = scores;
    if (open_) {
      lower(scores), tell();
      const Tally& before = tallies_[kBefore];
      const double rise = tallies_[kWhile].mean(Tally::loss) - before.mean(Tally::loss);
      const double noise = 2 * before.deviation() / std::sqrt(double(kSegment));
      const bool back = now.mean(Tally::loss) <= before.mean(Tally::loss) + std::max(kBack * rise, noise);
      if (back || static_cast<double>(seen_) - latest().numbers[ChangeEvent::at] >= kPatience) finish(scores, back);
    } else {
      tallies_.push_back(std::move(now));
      if (tallies_.size() > kFirst + kRecent) {
        tallies_[kUsual].merge(tallies_[kFirst], kKeep);
        tallies_.erase(tallies_.begin() + kFirst);
      }
    }
    tallies_[kNow] = Tally();
  }

  // Updates the record of the current change.
  void tell() {
    const Tally &before = tallies_[kBefore], &during = tallies_[kWhile];
    latest().numbers[ChangeEvent::during] = during.mean(Tally::error);
    latest().numbers[ChangeEvent::after] = tallies_[kNow].mean(Tally::error);
    std::vector<double>& classes = latest().classes;
    classes.assign(4 * std::max(before.count.size(), during.count.size()), 0.0);
    const auto put = [&](const Tally& tally, std::size_t at) {
      for (std::size_t c = 0; c < tally.count.size(); ++c)
        classes[4 * c + at] = tally.count[c], classes[4 * c + at + 1] = tally.wrong[c];
    };
    put(before, 0), put(during, 2);
  }
  void lower(const std::vector<double>& scores) {
    for (int i = 0; i < models_; ++i) {
      double* of = latest().scores.data() + 3 * i;
      of[1] = std::min(of[1], scores[i]), of[2] = scores[i];
    }
  }

  // Closes the current change. The usual error is estimated anew from here on.
  void finish(const std::vector<double>& scores, bool back) {
    lower(scores), tell();
    latest().numbers[ChangeEvent::ended] = static_cast<double>(seen_);
    latest().numbers[ChangeEvent::recovered] = back;
    open_ = 0;
    tallies_.resize(kFirst);
    tallies_[kUsual] = tallies_[kNow];
    tallies_[kWhile] = tallies_[kBefore] = Tally();
  }

  void keep(ChangeEvent event) {
    if (events_.size() == kMost) events_.erase(events_.begin());
    events_.push_back(std::move(event));
  }

  int models_;
  std::int64_t seen_ = 0;
  std::uint8_t open_ = 0;  // whether the latest change still lasts
  double last_alarm_ = 0;
  Adwin adwin_;
  std::vector<Tally> tallies_;
  std::vector<ChangeEvent> events_;
};

}  // namespace heros
