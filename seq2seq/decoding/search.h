// Greedy search, beam search and sampling of ids with decoders or ensembles.
#ifndef SEQ2SEQ_DECODING_SEARCH_H_
#define SEQ2SEQ_DECODING_SEARCH_H_

#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "nn/forward.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/memory.h"

namespace regard {

struct Hypothesis {
  std::vector<int32_t> ids;  // without the first and the ending id
  // The alignment (MemoryAlignment) when each id was chosen, and at last the
  // ending id if it was reached: [num_choices(), memory positions of the
  // source]. Empty if it was not asked for, or without attention.
  std::vector<float> weights;
  // Natural logarithm of the model's probability, the ending id included; of
  // an ensemble, the sum over its ids of the logarithms of means.
  double log_probability = 0;
  // What hypotheses are ordered by: the log-probability over the length
  // penalty, plus the coverage term.
  double score = 0;
  // Whether its last choice was the ending id. Of a beam it is, unless that
  // was impossible, or min_length left no room for it.
  bool finished = false;

  auto members() {
    return std::tie(ids, weights, log_probability, score, finished);
  }
  int64_t num_choices() const {
    return static_cast<int64_t>(ids.size()) + (finished ? 1 : 0);
  }
};

// One model of an ensemble, or the only one.
struct EnsembleMember {
  const Decoder<float>* decoder;
  // Its tape is this member's alone.
  Forward<float>* forward;
  // Leaves the memory of all sources on the tape of `forward`.
  std::function<Memory<float>(Forward<float>&)> encode;
};

struct SearchSource {
  // Ids that are generated at most, the ending one included; at least 1.
  int64_t max_length;
  // Names the source among all; sampling depends on it.
  uint64_t key = 0;
};

struct SearchInputs {
  // Of one vocabulary. Their predictions are averaged in this order, as
  // ensemble_mean says; the alignment is the first one's.
  absl::Span<const EnsembleMember> members;
  absl::Span<const SearchSource> sources;
  // Ids that are read before the first choice, [sources, n]; empty: the head's
  // beginning id. They are not part of a hypothesis.
  absl::Span<const int32_t> prompt = {};
  bool want_weights = true;
};

// The hypotheses of each source: at least one and at most n_best, those that
// ended first, each group from the greatest score. What is found for a source
// depends on its memory, prompt, limit and key alone, in every bit.
//
// A step takes its 2 beam best continuations. Those that end are complete if
// they are among the best `beam`, and the best `beam` of the others live on (as
// in fairseq). A source is done when `beam` hypotheses are complete and no
// living one would be among the n_best if it were: `beam` unlikely hypotheses
// may be complete long before the best one is. At the greatest length each
// hypothesis ends, however unlikely that is (as in fairseq): a complete one of
// few, unlikely ids would win over all that were cut. Only samples are cut.
//
// Nothing is recorded. `config` has passed ValidateSearch().
std::vector<std::vector<Hypothesis>> Search(const SearchInputs& inputs,
                                            const SearchConfig& config);

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_SEARCH_H_
