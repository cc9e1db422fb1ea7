// Selects blocks of keys for each query, by the inner product of the query and
// the mean of the keys in the block.
#ifndef ATTENTION_SELECTIONS_KEY_BLOCKS_H_
#define ATTENTION_SELECTIONS_KEY_BLOCKS_H_

#include <cstdint>

#include "attention/key_ranges.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"

namespace regard {

// The number of blocks that each query sees, and the rule that chooses them.
// Blocks begin at positions that are multiples of `size`.
struct BlockChoiceRule {
  int64_t size;
  // The number of blocks that a query sees, including initial and local blocks.
  // All initial and local blocks are seen, even if there are more than
  // `chosen`.
  int64_t chosen;
  // A query always sees the first `initial` blocks. With a causal mask, it also
  // always sees the last `local` blocks, up to its own block.
  int64_t initial = 0;
  int64_t local = 1;
  // Whether heads that share keys choose the same blocks. If true, the rank of
  // a block is its softmax weight of q . mean / sqrt(width), summed over these
  // heads. If false, the rank is q . mean.
  bool heads_choose_together = false;
  // Slot of the layer state for the means of blocks. If set, a decoder step
  // does not read the keys of complete blocks again. The value is [rows, key
  // heads, blocks, width], with the number of blocks rounded up to a power of
  // two.
  int means_slot = ScoreWidths::kNoSlot;
};

// Returns the ranges of keys that each query sees. The gate of a block is q .
// mean(k), where the mean is over the keys of the block that the query sees.
// Among equal gates, earlier blocks are chosen first. Blocks with a NaN gate
// are chosen last.
template <typename T>
KeyRanges ChooseBlocks(Tape<T>& tape, const ScoreInputs<T>& in,
                       const BlockChoiceRule& choice);

}  // namespace regard

#endif  // ATTENTION_SELECTIONS_KEY_BLOCKS_H_
