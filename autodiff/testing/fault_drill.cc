#include "autodiff/testing/fault_drill.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "autodiff/fault_finder.h"
#include "autodiff/node.h"
#include "autodiff/tape_observer.h"

namespace regard {

namespace {

enum class Kind { kValue, kGradient, kScores };

struct Place {
  Kind kind;
  std::string operation;
  bool in_scores;

  std::string ToString() const {
    return absl::StrCat(
        kind == Kind::kGradient ? "a gradient made by " : "the value of ",
        operation);
  }
};

// A FaultFinder that overwrites the first element of one array, a value or a
// gradient, with `soil`. `target` is the index of this array in the order of
// the search. If `target` is negative, no array is changed.
template <typename T>
class SoilingFinder : public FaultFinder<T> {
 public:
  SoilingFinder(Tape<T>& tape, int64_t target, T soil)
      : FaultFinder<T>(tape), target_(target), soil_(soil) {}

  // The values and gradients that were visited so far, in order.
  const std::vector<Place>& places() const { return places_; }

  void OnForwardDone(const char* name, const ScopeName* scope,
                     absl::Span<const Var<T>> outs) override {
    for (const Var<T>& out : outs) {
      Visit(Kind::kValue, name, out.data(), out.size());
    }
    FaultFinder<T>::OnForwardDone(name, scope, outs);
  }
  void OnBeginContribution(const Node<T>& node) override {
    contributions_.push_back(&node);
    FaultFinder<T>::OnBeginContribution(node);
  }
  void OnBackwardDone(const char* name, const ScopeName* scope) override {
    for (const Node<T>* node : contributions_) {
      Visit(Kind::kGradient, name, node->grad, node->size);
    }
    contributions_.clear();
    FaultFinder<T>::OnBackwardDone(name, scope);
  }
  void OnBeginScores() override {
    in_scores_ = true;
    FaultFinder<T>::OnBeginScores();
  }
  void OnEndScores(Var<T> scores) override {
    in_scores_ = false;
    Visit(Kind::kScores, "", scores.data(), scores.size());
    FaultFinder<T>::OnEndScores(scores);
  }

 private:
  void Visit(Kind kind, const char* name, T* values, int64_t size) {
    if (size == 0) return;
    if (static_cast<int64_t>(places_.size()) == target_) *values = soil_;
    places_.push_back({kind, name, in_scores_});
  }

  const int64_t target_;
  const T soil_;
  std::vector<Place> places_;
  std::vector<const Node<T>*> contributions_;
  bool in_scores_ = false;
};

}  // namespace

template <typename T>
FaultInjectionSummary InjectFaults(absl::FunctionRef<void(Tape<T>&)> run,
                                   bool once_a_name) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  FaultInjectionSummary drill;
  std::vector<Place> places;
  // Runs the function with one fault, and returns the fault that the finder
  // reports.
  const auto soil = [&](int64_t target, T value) {
    Tape<T> tape;
    SoilingFinder<T> finder(tape, target, value);
    run(tape);
    if (target < 0) places = finder.places();
    return finder.fault();
  };
  const auto expect = [&](const Place& place, T value,
                          const std::string& wanted, const std::string& got) {
    if (wanted.empty() ? got.empty() : absl::StartsWith(got, wanted)) return;
    drill.failures.push_back(absl::StrCat(value, " in ", place.ToString(),
                                          ": '", got, "', wanted '", wanted,
                                          "'"));
  };
  const std::string before = soil(-1, 0);
  if (!before.empty()) drill.failures.push_back("before the drill: " + before);
  std::set<std::string> seen;
  for (size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    if (once_a_name && !seen.insert(place.ToString()).second) continue;
    if (place.kind == Kind::kScores) {
      ++drill.legal;
      expect(place, -kInfinity, "", soil(i, -kInfinity));
      continue;
    }
    for (const T value : {kNan, kInfinity, -kInfinity}) {
      if (place.in_scores && !std::isnan(value)) continue;
      ++drill.faults;
      drill.operations.insert(place.operation);
      expect(place, value,
             absl::StrCat(std::isnan(value) ? "NaN" : "Inf", " in ",
                          place.ToString(), " ("),
             soil(i, value));
    }
  }
  return drill;
}

template FaultInjectionSummary InjectFaults<float>(
    absl::FunctionRef<void(Tape<float>&)>, bool);
template FaultInjectionSummary InjectFaults<double>(
    absl::FunctionRef<void(Tape<double>&)>, bool);

}  // namespace regard
