// Selects the attention layer and the head that serve as the alignment, and
// returns their weights.
#ifndef SEQ2SEQ_MEMORY_ALIGNMENT_H_
#define SEQ2SEQ_MEMORY_ALIGNMENT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "seq2seq/decoder.h"

namespace regard {

// Returns patterns for the hook points of `value`, by default the attention
// weights, in the attention layers that `choice` may select.
std::vector<std::string> AlignmentSites(const AlignmentChoice& choice = {},
                                        absl::string_view value = "weights");

// Returns the alignment, [sources, 1, queries, keys], from the maps of a pass.
// Averages the heads if `choice` has no head. The result has no weights if
// `maps` contains no attention to the memory.
template <typename T>
AttentionMap<T> MemoryAlignment(absl::Span<const AttentionMap<T>> maps,
                                const AlignmentChoice& choice = {});

}  // namespace regard

#endif  // SEQ2SEQ_MEMORY_ALIGNMENT_H_
