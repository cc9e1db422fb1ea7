// Sequences of numbers to copy or to reverse: translation whose alignment is
// known, and whose difficulty is set by its lengths.
#ifndef DATA_SEQUENCES_H_
#define DATA_SEQUENCES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/sentence_pair.h"

namespace regard {

enum class SequenceOrder { kCopy, kReverse };

struct SequenceSplit {
  int64_t pairs = 0;
  int64_t min_length = 1;  // tokens a side; lengths are uniform
  int64_t max_length = 1;  // included
};

// The links of `target`, which is `source` in that order; none if it is not.
std::vector<AlignmentLink> SequenceLinks(
    SequenceOrder order, const std::vector<std::string>& source,
    const std::vector<std::string>& target);

// A split of pairs with gold alignments, of tokens "0" to "symbols - 1",
// uniform. A pair depends on (seed, the split's name, position, symbols and
// lengths), so asking for more pairs keeps the earlier ones.
std::vector<SentencePair> MakeSequences(SequenceOrder order, int64_t symbols,
                                        const SequenceSplit& split,
                                        uint64_t seed, absl::string_view name);

}  // namespace regard

#endif  // DATA_SEQUENCES_H_
