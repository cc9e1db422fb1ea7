// Greedy search, beam search and sampling of ids with decoders or ensembles.
#ifndef SEQ2SEQ_DECODING_SEARCH_H_
#define SEQ2SEQ_DECODING_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "nn/forward.h"
#include "seq2seq/decoder.h"
#include "seq2seq/memory.h"

namespace regard {

class SearchConfig;

struct Hypothesis {
  std::vector<int32_t> ids;  // without the first and the ending id
  // The alignment (MemoryAlignment) when each id was chosen, and at last the
  // ending id if it was reached: [num_choices(), memory positions of the
  // source]. Empty if it was not asked for, or without attention.
  std::vector<float> weights;
  // Natural logarithm of the model's probability, the ending id included; of
  // an ensemble, the sum over its ids of the logarithms of means. With
  // repetition_penalty or no_repeat_ngram, of what these make of it.
  double log_probability = 0;
  // What hypotheses are ordered by: the log-probability over the length
  // penalty, plus the coverage term.
  double score = 0;
  // Whether its last choice was the ending id. Of a beam it is, unless that was
  // impossible, min_length left no room for it, or SearchInputs say otherwise.
  bool finished = false;
  // Whether it was cut: it has as many ids as its source's limit, or the
  // positions of a decoder, allow, and does not end by choice. The ending id at
  // the limit is a choice if it was sampled, or if no other id was likelier.
  // What would have followed a hypothesis without it is not known.
  bool at_limit = false;

  auto members() {
    return std::tie(ids, weights, log_probability, score, finished, at_limit);
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
  // Leaves the memory of all sources on the tape of `forward`. Null: there is
  // none.
  std::function<Memory<float>(Forward<float>&)> encode = nullptr;
};

struct SearchSource {
  // Ids that are generated at most, the ending one included; at least 1.
  int64_t max_length;
  // Names the source among all; sampling depends on it.
  uint64_t key = 0;
  // Ids that are read before the first choice and are not part of a hypothesis;
  // empty: the head's beginning id. With a memory, all are of one length.
  absl::Span<const int32_t> prompt = {};
};

// The key of a source that is these ids.
uint64_t KeyOf(absl::Span<const int32_t> ids);

// Calls its argument with the ids of a hypothesis, from the last back, until
// that returns false.
using IdsFromLast = absl::FunctionRef<void(absl::FunctionRef<bool(int32_t)>)>;

struct SearchInputs {
  // Of one vocabulary. Their predictions are averaged in this order, as
  // ensemble_mean says; the alignment is the first one's.
  absl::Span<const EnsembleMember> members;
  absl::Span<const SearchSource> sources;
  bool want_weights = true;

  // Ids that a row reads at most, no more than the decoders know; without a
  // memory. Before it would read more, the last half of so many ids of prompt
  // and hypothesis are read again, and it goes on from them; of a longer
  // prompt, the same. 0: a hypothesis ends where a decoder knows no further
  // position.
  int64_t window = 0;
  // Whether a hypothesis is complete as it is at its greatest length. Else it
  // can only end there, except in sampling.
  bool cut = false;
  // Whether a hypothesis is complete that is not by the ending id. Null: none.
  std::function<bool(size_t source, IdsFromLast ids)> completes = nullptr;
  // Called with each id that is chosen for a source of one hypothesis (a beam
  // or n_best of 1), but the ending one. Where it returns false, the hypothesis
  // stays as it is. Sources come in any order.
  std::function<bool(size_t source, int32_t id)> on_choice = nullptr;
};

// The hypotheses of each source: at least one and at most n_best, those that
// are complete first, each group from the greatest score. What is found for a
// source depends on its memory, prompt, limit and key alone, in every bit:
// prompts are read whole, those of one length together, and a source joins the
// others when these have read as many ids.
//
// A step takes its 2 beam best continuations. Those that end are complete if
// they are among the best `beam`, and the best `beam` of the others live on (as
// in fairseq and transformers). A source is done when `beam` hypotheses are
// complete and no living one would be among the n_best if it were: `beam`
// unlikely hypotheses may be complete long before the best one is. At the
// greatest length each hypothesis ends, however unlikely that is (as in
// fairseq): a complete one of few, unlikely ids would win over all that were
// cut. With `cut` all count as complete instead, as in transformers.
//
// The first sample of a source draws by (seed, key, step), further ones by
// their number, too.
//
// Nothing is recorded. `config` has passed ValidateSearch().
std::vector<std::vector<Hypothesis>> Search(const SearchInputs& inputs,
                                            const SearchConfig& config);

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_SEARCH_H_
