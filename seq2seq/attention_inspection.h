// What a decoder looked at for each word, and how much that mattered.
#ifndef SEQ2SEQ_ATTENTION_INSPECTION_H_
#define SEQ2SEQ_ATTENTION_INSPECTION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "nn/forward.h"
#include "seq2seq/seq2seq_model.h"

namespace regard {

// The choice of one target id, the true ids before it given.
struct InspectedStep {
  std::vector<double> weights;  // of each source id
  // Of the id's log probability with respect to each weight of this step, the
  // others held: above 0 where more attention would have made the id likelier.
  std::vector<double> gradients;
  double entropy = 0;          // of the weights, in nats; 0: one id has it all
  double log_probability = 0;  // natural, of the id
};

// One step for each of `target`, which ends in <eos>; the ids of a source that
// the model attends to. `forward` has gradients; this begins its steps itself,
// one for each id, since each has a gradient of its own.
//
// The context is the sum over ids j of weight_j value_j, so the gradient with
// respect to weight_j is value_j . (gradient with respect to the context).
template <typename T>
std::vector<InspectedStep> InspectAttention(const Seq2SeqModel<T>& model,
                                            Forward<T>& forward,
                                            absl::Span<const int32_t> source,
                                            absl::Span<const int32_t> target);

extern template std::vector<InspectedStep> InspectAttention<float>(
    const Seq2SeqModel<float>&, Forward<float>&, absl::Span<const int32_t>,
    absl::Span<const int32_t>);
extern template std::vector<InspectedStep> InspectAttention<double>(
    const Seq2SeqModel<double>&, Forward<double>&, absl::Span<const int32_t>,
    absl::Span<const int32_t>);

}  // namespace regard

#endif  // SEQ2SEQ_ATTENTION_INSPECTION_H_
