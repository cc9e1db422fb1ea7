// Which of a decoder's attentions to its memory is the alignment.
#ifndef SEQ2SEQ_MEMORY_ALIGNMENT_H_
#define SEQ2SEQ_MEMORY_ALIGNMENT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "seq2seq/decoder.h"

namespace regard {

// Patterns of the sites of those that `choice` may choose: of their weights, or
// of another `value`.
std::vector<std::string> AlignmentSites(const AlignmentChoice& choice = {},
                                        absl::string_view value = "weights");

// The map over the memory that is the alignment, of one head [sources, 1,
// queries, keys]. Without weights if there is no map over the memory.
template <typename T>
AttentionMap<T> MemoryAlignment(absl::Span<const AttentionMap<T>> maps,
                                const AlignmentChoice& choice = {});

}  // namespace regard

#endif  // SEQ2SEQ_MEMORY_ALIGNMENT_H_
