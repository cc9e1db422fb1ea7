#include "attention/inspection/trace.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autodiff/instantiate.h"
#include "autodiff/ops/shape_ops.h"
#include "nn/hook.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

std::vector<std::string> OrNumbers(std::vector<std::string> labels,
                                   int64_t count) {
  if (static_cast<int64_t>(labels.size()) == count) return labels;
  labels.clear();
  for (int64_t i = 0; i < count; ++i) labels.push_back(absl::StrCat(i));
  return labels;
}

}  // namespace

const SiteSequences* TraceDescription::Find(absl::string_view site) const {
  const auto found = std::find_if(
      sites.begin(), sites.end(),
      [&](const SiteSequences& of) { return MatchesSite(of.pattern, site); });
  return found == sites.end() ? nullptr : &*found;
}

std::vector<std::string> TraceDescription::QueryLabels(absl::string_view site,
                                                       int64_t count) const {
  const SiteSequences* const of = Find(site);
  if (of == nullptr) return OrNumbers({}, count);
  // Keys and values have the positions of the attended sequence.
  if (absl::EndsWith(site, "/keys") || absl::EndsWith(site, "/values")) {
    return KeyLabels(site, count);
  }
  const TracedSequence& sequence = sequences.at(of->queries);
  // An embedding belongs to the token that a position reads, not to the token
  // that the position writes.
  return OrNumbers(
      MatchesSite(inputs, site) ? sequence.labels : sequence.query_labels(),
      count);
}

std::vector<std::string> TraceDescription::KeyLabels(absl::string_view site,
                                                     int64_t count) const {
  const SiteSequences* const of = Find(site);
  if (of == nullptr) return OrNumbers({}, count);
  return OrNumbers(sequences.at(of->keys).labels, count);
}

bool TraceDescription::QueriesWriteOutputs(absl::string_view site) const {
  const SiteSequences* const of = Find(site);
  return successive && of != nullptr && of->queries == writer;
}

template <typename T>
Var<T> PickPerRow(Var<T> x, absl::Span<const int32_t> ids) {
  REGARD_CHECK_EQ(x.rows(), static_cast<int64_t>(ids.size()));
  x = x.Reshape({x.rows(), x.cols()});
  std::vector<Var<T>> picked;
  for (size_t i = 0; i < ids.size(); ++i) {
    picked.push_back(
        Slice(Slice(x, /*axis=*/0, static_cast<int64_t>(i), 1), 1, ids[i], 1)
            .Reshape({1}));
  }
  return Concat<T>(picked, /*axis=*/0);
}

absl::Status CheckNoTarget(const TraceOptions& options) {
  if (!options.target.has_value() && options.beam == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(options.target.has_value() ? "target" : "beam",
                   ": applies only to models that write text"));
}

absl::Status CheckTracedSize(absl::string_view what, size_t size,
                             int64_t most) {
  if (size > 0 && static_cast<int64_t>(size) <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": requires 1 to ", most, " tokens, got ", size));
}

REGARD_INSTANTIATE_FUNCTION(PickPerRow);

}  // namespace regard
