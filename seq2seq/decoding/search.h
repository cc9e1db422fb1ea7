// Greedy search, beam search and sampling of token ids, with a decoder or an
// ensemble of decoders.
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
  std::vector<int32_t> ids;  // without the beginning and the ending id
  // The alignment (MemoryAlignment) at each choice, including the choice of the
  // ending id: [num_choices(), memory positions of the source]. Empty if the
  // alignment was not requested, or if the decoder has no attention to a
  // memory.
  std::vector<float> weights;
  // The natural logarithm of the hypothesis's probability, the ending id
  // included. For an ensemble, the sum over ids of the logarithm of the mean
  // probability (see ensemble_mean). Includes the effects of repetition_penalty
  // and no_repeat_ngram.
  double log_probability = 0;
  // The log-probability divided by the length penalty, plus the coverage term.
  // Hypotheses are ordered by this score.
  double score = 0;
  // Whether the last choice was the ending id. A beam search ends with this id,
  // unless the id is impossible or min_length leaves no space for it. With
  // SearchInputs::cut or SearchInputs::completes, a hypothesis may be complete
  // without this id.
  bool finished = false;
  // Whether the hypothesis was truncated at the limit of its source or of the
  // decoder's positions. An ending id at the limit does not count as truncation
  // if it was sampled, or if no other id was likelier.
  bool at_limit = false;

  auto members() {
    return std::tie(ids, weights, log_probability, score, finished, at_limit);
  }
  int64_t num_choices() const {
    return static_cast<int64_t>(ids.size()) + (finished ? 1 : 0);
  }
};

// One model of an ensemble, or the only model.
struct EnsembleMember {
  const Decoder<float>* decoder;
  // No other member may use the tape of this Forward.
  Forward<float>* forward;
  // Computes the memory of all sources on the tape of `forward`. Null if there
  // is no memory.
  std::function<Memory<float>(Forward<float>&)> encode = nullptr;
};

struct SourceSearchInputs {
  // The maximum number of ids to generate, the ending id included. At least 1.
  int64_t max_length;
  // A key that identifies the source. Sampling depends on this key.
  uint64_t key = 0;
  // The ids read before the first choice, which are not part of a hypothesis.
  // Empty means the beginning id of the head. With a memory, all prompts must
  // have the same length.
  absl::Span<const int32_t> prompt = {};
};

// Returns a key that identifies the ids of a source.
uint64_t KeyOf(absl::Span<const int32_t> ids);

// Calls its argument with the ids of a hypothesis, from the last to the first,
// until the argument returns false.
using IdsFromLast = absl::FunctionRef<void(absl::FunctionRef<bool(int32_t)>)>;

struct SearchInputs {
  // The members of the ensemble, which share a vocabulary. Their predictions
  // are averaged in this order (see ensemble_mean). The first member gives the
  // alignment.
  absl::Span<const EnsembleMember> members;
  absl::Span<const SourceSearchInputs> sources;
  bool want_weights = true;

  // The maximum number of ids that a row reads. Must not exceed the number of
  // positions that the decoders support. 0 means no window. Requires members
  // without a memory.
  //
  // When a row reaches the window, the last half window of its prompt and
  // hypothesis is read again, and the search continues from there. Only the
  // last half window of a longer prompt is read. Without a window, a hypothesis
  // ends where a decoder supports no further position.
  int64_t window = 0;
  // Whether a hypothesis counts as complete at its maximum length without the
  // ending id. If false, a beam search allows only the ending id there, and a
  // sampled hypothesis stays incomplete.
  bool cut = false;
  // Returns whether a hypothesis is complete although it does not have the
  // ending id. If null, no such hypothesis is complete.
  std::function<bool(size_t source, IdsFromLast ids)> completes = nullptr;
  // Called with each id, except the ending id, that is chosen for a source.
  // Requires a beam of 1 or, in sampling, an n_best of 1. If it returns false,
  // the hypothesis stops. The order of the sources is not specified.
  std::function<bool(size_t source, int32_t id)> on_choice = nullptr;
};

// Returns at least one and at most n_best hypotheses of each source. Complete
// hypotheses come before other hypotheses, and greater scores before lower
// scores. The result of a source depends only on its memory, prompt, limit and
// key, and is bit-identical in any batch. Prompts of the same length are read
// together. A source joins the other sources when they have read as many ids as
// its prompt has.
//
// A step of beam search takes the best 2 * beam continuations. A continuation
// that ends is complete if it is among the best `beam`. The best `beam`
// continuations that do not end remain in the search (as in fairseq and
// transformers). A source is done when `beam` hypotheses are complete and no
// remaining hypothesis could enter the n_best. Waiting for the remaining
// hypotheses is necessary, because unlikely hypotheses may end long before the
// best hypothesis.
//
// At the maximum length, each hypothesis ends, however unlikely the ending id
// is (as in fairseq). If hypotheses were truncated instead, a short, unlikely
// hypothesis that ended would outrank them. With `cut`, all hypotheses count as
// complete at the maximum length (as in transformers).
//
// The first sample of a source is drawn from (seed, key, step). Further samples
// also depend on their index.
//
// The tapes do not record. `config` must have passed ValidateSearch().
std::vector<std::vector<Hypothesis>> Search(const SearchInputs& inputs,
                                            const SearchConfig& config);

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_SEARCH_H_
