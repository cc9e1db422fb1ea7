#include "attention/inspection/patching.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/inspection/attention_maps.h"
#include "attention/inspection/inspection.h"
#include "autodiff/instantiate.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "nn/hook.h"
#include "nn/scoped_hook.h"
#include "optimization/interventions/site_requests.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

template <typename T>
using Seen = typename SiteValueRecorder<T>::Seen;

constexpr int64_t kAllPositions = -1;

int64_t PositionsOf(const Shape& shape) {
  return shape.rank() < 2 ? 1 : shape[shape.rank() - 2];
}

// A hook that replaces one position of the chosen hook points by the values of
// another pass. All hook points that match the patterns are marked as replaced,
// even if their values do not change. All passes then use the same operations.
template <typename T>
class Patcher : public Hook<T> {
 public:
  explicit Patcher(std::vector<std::string> patterns)
      : patterns_(std::move(patterns)) {}

  void Set(std::vector<const Seen<T>*> others, int64_t position) {
    others_ = std::move(others);
    position_ = position;
  }

  HookRequest Request(const std::string& site) override {
    return {.replacement = MatchesSite(patterns_, site)};
  }

  Var<T> Replace(Tape<T>& tape, const std::string& site,
                 Var<T> value) override {
    const auto other =
        std::find_if(others_.begin(), others_.end(),
                     [&](const Seen<T>* of) { return of->site == site; });
    if (other == others_.end()) return value;
    if (position_ == kAllPositions) {
      return tape.Constant(value.shape(), (*other)->value);
    }
    const Var<T> patched = tape.Constant(value.shape(), value.span());
    const int64_t width = value.cols();
    const int64_t step = PositionsOf(value.shape());
    for (int64_t row = position_; row * width < value.size(); row += step) {
      std::copy_n((*other)->value.begin() + row * width, width,
                  patched.data() + row * width);
    }
    return patched;
  }

 private:
  const std::vector<std::string> patterns_;
  std::vector<const Seen<T>*> others_;
  int64_t position_ = kAllPositions;
};

template <typename T>
double ValueOf(Forward<T>& forward, const TraceablePrediction<T>& traced,
               int64_t chosen, Hook<T>* hook) {
  forward.BeginStep();
  const ScopedExtraHook<T> watch(forward, hook);
  return static_cast<double>(ChosenOutput(traced.pass(forward), chosen).item());
}

std::string TextOf(const Shape& shape) {
  std::ostringstream text;
  text << shape;
  return text.str();
}

template <typename T>
absl::Status CheckSame(const Seen<T>& seen, const SiteValueRecorder<T>& other) {
  const Seen<T>* const there = other.Find(seen.site);
  if (there != nullptr && there->shape == seen.shape) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", seen.site, "' is ", TextOf(seen.shape),
      there == nullptr
          ? "; the other input has no such hook point (site)"
          : absl::StrCat("; for the other input it is ", TextOf(there->shape),
                         ": both inputs must have the same length")));
}

// Returns the chosen output of `traced` if its inputs have the values of the
// other pass. Returns NaN if the inputs have different shapes.
template <typename T>
double OtherValue(Forward<T>& forward, const TraceablePrediction<T>& traced,
                  const TraceablePrediction<T>& other, int64_t chosen) {
  SiteValueRecorder<T> here(traced.labels.inputs);
  SiteValueRecorder<T> there(traced.labels.inputs);
  ValueOf<T>(forward, traced, chosen, &here);
  ValueOf<T>(forward, other, chosen, &there);
  std::vector<const Seen<T>*> others;
  for (const Seen<T>& seen : here.seen()) {
    if (!CheckSame(seen, there).ok()) return std::nan("");
    others.push_back(there.Find(seen.site));
  }
  Patcher<T> patcher(traced.labels.inputs);
  patcher.Set(std::move(others), kAllPositions);
  return ValueOf<T>(forward, traced, chosen, &patcher);
}

template <typename T>
absl::Status NoSuch(Forward<T>& forward, const TraceablePrediction<T>& traced,
                    const std::string& pattern) {
  SiteValueRecorder<T> all({"*"});
  ValueOf<T>(forward, traced, kAllOutputs, &all);
  SiteShapes sites;
  for (const Seen<T>& seen : all.seen()) sites[seen.site] = seen.shape;
  return absl::InvalidArgumentError(NoSuchSiteMessage(sites, pattern));
}

}  // namespace

template <typename T>
absl::StatusOr<PatchingResult> Patch(Forward<T>& forward,
                                     const TraceablePrediction<T>& traced,
                                     const TraceablePrediction<T>& other,
                                     const std::string& pattern,
                                     int64_t chosen) {
  if (traced.labels.outputs.empty()) {
    return absl::InvalidArgumentError(
        "this input has no output that a patch could change; use another "
        "input");
  }
  if (other.labels.outputs.empty() ||
      chosen >= std::ssize(other.labels.outputs)) {
    return absl::InvalidArgumentError(
        "the other input does not have the chosen output; choose an output "
        "that both inputs have");
  }
  SiteValueRecorder<T> here({pattern});
  SiteValueRecorder<T> there({pattern});
  ValueOf<T>(forward, traced, chosen, &here);
  if (here.seen().empty()) return NoSuch(forward, traced, pattern);
  ValueOf<T>(forward, other, chosen, &there);
  for (const Seen<T>& seen : here.seen()) {
    REGARD_RETURN_IF_ERROR(CheckSame(seen, there));
  }
  Patcher<T> patcher({pattern});
  PatchingResult patched = {
      .value = ValueOf<T>(forward, traced, chosen, &patcher),
      .other_value = OtherValue(forward, traced, other, chosen)};
  std::map<std::string, size_t> rows;
  for (const Seen<T>& seen : here.seen()) {
    const std::string site = AllStepsPattern(seen.site);
    const bool is_step = site != seen.site;
    const auto [row, is_new] = rows.try_emplace(site, patched.sites.size());
    if (is_new) patched.sites.push_back({site, {}, {}});
    std::vector<double>& changes = patched.sites[row->second].changes;
    const int64_t positions = is_step ? 1 : PositionsOf(seen.shape);
    for (int64_t position = 0; position < positions; ++position) {
      patcher.Set({there.Find(seen.site)}, is_step ? kAllPositions : position);
      changes.push_back(ValueOf<T>(forward, traced, chosen, &patcher) -
                        patched.value);
    }
  }
  for (PatchedSite& of : patched.sites) {
    of.labels = traced.labels.QueryLabels(
        of.site, static_cast<int64_t>(of.changes.size()));
  }
  return patched;
}

REGARD_INSTANTIATE_FUNCTION(Patch);

}  // namespace regard
