// What a decoder attended to for each id, and how much that mattered.
#ifndef SEQ2SEQ_ATTENTION_INSPECTION_H_
#define SEQ2SEQ_ATTENTION_INSPECTION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "nn/forward.h"
#include "seq2seq/decoder.h"
#include "seq2seq/memory.h"

namespace regard {

// The attention of one head at one step.
struct InspectedMap {
  std::string name;  // of the attention: "layer 2 over the source"
  int64_t head = 0;
  bool over_memory = false;
  std::vector<double> weights;  // of each key
  // Gradients of the id's log-probability with respect to each weight of this
  // step, the others held: above 0 if more attention would have made the id
  // likelier. Empty if the decoder gives no gradients.
  std::vector<double> gradients;
};

// The entropy of weights that sum to 1, in nats; 0: one key has it all.
double Entropy(absl::Span<const double> weights);

// The choice of one target id, the true ids before it given.
struct InspectedStep {
  std::vector<InspectedMap> maps;  // in the decoder's order; may be empty
  // MemoryAlignment() of the maps; empty without maps over the memory.
  std::vector<double> alignment;
  double log_probability = 0;  // natural, of the id
};

// One step for each of `target`, which includes the ending id. `encode` leaves
// the memory of one source on the tape. Begins a step of `forward`, which needs
// no gradients, for each id, since each has a gradient of its own.
template <typename T>
std::vector<InspectedStep> InspectAttention(
    const Decoder<T>& decoder, Forward<T>& forward,
    const std::function<Memory<T>(Forward<T>&)>& encode,
    absl::Span<const int32_t> target);

}  // namespace regard

#endif  // SEQ2SEQ_ATTENTION_INSPECTION_H_
