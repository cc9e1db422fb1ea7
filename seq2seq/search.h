// Finding a likely translation: greedy search, and beam search.
#ifndef SEQ2SEQ_SEARCH_H_
#define SEQ2SEQ_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "nn/forward.h"
#include "seq2seq/seq2seq_model.h"

namespace regard {

struct Translation {
  std::vector<int32_t> ids;  // without <bos> and <eos>
  // Attention when each id was chosen, and at last <eos>:
  // [ids.size() + 1, source ids]; empty without attention.
  std::vector<float> weights;
  // Natural logarithm of the model's probability, <eos> included.
  double log_probability = 0;
  // Whether <eos> was reached before the longest length allowed.
  bool finished = false;
};

struct SearchOptions {
  // Hypotheses kept per sentence; 1 is greedy search.
  int beam = 1;
  // A translation has at most this many words more than its source has ids,
  // times the factor.
  int length_factor = 2;
  int extra_length = 10;
};

// The best translation of each source: its ids, as EncodeSentence() made them.
// A source's translation does not depend on the others. Of hypotheses that end,
// the one of greatest log probability per id wins (Wu et al. 2016, alpha = 1).
std::vector<Translation> Search(const Seq2SeqModel<float>& model,
                                Forward<float>& forward,
                                absl::Span<const std::vector<int32_t>> sources,
                                const SearchOptions& options);

}  // namespace regard

#endif  // SEQ2SEQ_SEARCH_H_
