// Selects blocks of keys for each query, by the inner product of the query and
// the mean of the block's keys.
#ifndef ATTENTION_SELECTIONS_KEY_BLOCKS_H_
#define ATTENTION_SELECTIONS_KEY_BLOCKS_H_

#include <cstdint>

#include "attention/key_ranges.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"

namespace regard {

// Number and kind of blocks that each query sees. Blocks begin at multiples of
// `size`, counted in positions of the keys.
struct BlockChoice {
  int64_t size;
  // The number of blocks that a query sees, including initial and local blocks.
  // All initial and local blocks are seen, even if there are more than
  // `chosen`.
  int64_t chosen;
  // The number of first blocks that are always seen. `local` is the number of
  // last blocks, up to the query's own, that are always seen with a causal
  // mask.
  int64_t initial = 0;
  int64_t local = 1;
  // Whether heads that share keys choose the same blocks. If true, the rank of
  // a block is its softmax weight of q . mean / sqrt(width), summed over these
  // heads. If false, the rank is q . mean.
  bool heads_choose_together = false;
  // Slot of the layer state for the means of blocks. With this slot, a decoder
  // step does not read the keys of complete blocks again. The value is [rows,
  // key heads, blocks, width], with the number of blocks rounded up to a power
  // of two.
  int means_slot = ScoreWidths::kNoSlot;
};

// Returns the ranges of keys that each query sees. The gate of a block is q .
// mean(k), where the mean is over the keys of the block that the query sees.
// Among equal gates, earlier blocks are chosen first. Blocks with a NaN gate
// are chosen last.
template <typename T>
KeyRanges ChooseBlocks(Tape<T>& tape, const ScoreInputs<T>& in,
                       const BlockChoice& choice);

}  // namespace regard

#endif  // ATTENTION_SELECTIONS_KEY_BLOCKS_H_
