// Shares inference between ranks.
#ifndef OPTIMIZATION_RANKS_INFERENCE_RANKS_H_
#define OPTIMIZATION_RANKS_INFERENCE_RANKS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "optimization/ranks/ranks.h"
#include "optimization/ranks/value_bytes.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// Makes `ranks` share inference over many examples on the current thread
// (evaluation/batches.h) for the lifetime of this object. All ranks must run
// the same inference with bit-identical models. If `ranks` is null or has one
// rank, nothing is shared. Scopes nest.
class InferenceRanks {
 public:
  explicit InferenceRanks(Ranks* ranks);
  ~InferenceRanks();

  InferenceRanks(const InferenceRanks&) = delete;
  InferenceRanks& operator=(const InferenceRanks&) = delete;

  // Returns the ranks of the calling thread's innermost scope, or null.
  static Ranks* Current();

 private:
  Ranks* const outer_;
};

// Sends the results to all ranks. Rank i % size must have computed results[i].
template <typename Result>
void GatherResults(Ranks& ranks, std::vector<Result>* results) {
  const auto size = static_cast<size_t>(ranks.size());
  const auto each = [&](size_t rank, auto work) {
    for (size_t i = rank; i < results->size(); i += size) work((*results)[i]);
  };
  const auto own = static_cast<size_t>(ranks.rank());
  std::string text;
  each(own, [&](const Result& result) { AppendBytes(result, &text); });
  const std::vector<std::string> texts = GatherTexts(ranks, text);
  for (size_t rank = 0; rank < size; ++rank) {
    if (rank == own) continue;
    absl::string_view bytes = texts[rank];
    each(rank, [&](Result& result) { TakeBytes(&bytes, &result); });
    REGARD_CHECK(bytes.empty()) << bytes.size() << " bytes of rank " << rank;
  }
}

}  // namespace regard

#endif  // OPTIMIZATION_RANKS_INFERENCE_RANKS_H_
