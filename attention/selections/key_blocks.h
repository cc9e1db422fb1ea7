// The choice of blocks of keys by the inner product of a query and the mean of
// a block's keys.
#ifndef ATTENTION_SELECTIONS_KEY_BLOCKS_H_
#define ATTENTION_SELECTIONS_KEY_BLOCKS_H_

#include <cstdint>

#include "attention/key_ranges.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"

namespace regard {

// How many blocks each query sees. Blocks begin at multiples of `size` in the
// keys' positions.
struct BlockChoice {
  int64_t size;
  // Blocks that a query sees. Initial and local ones count, and are seen even
  // if they are more.
  int64_t chosen;
  // The first blocks, and with a causal mask the last ones up to the query's
  // own, are seen in any case.
  int64_t initial = 0;
  int64_t local = 1;
  // Heads that share keys choose together, by the sum of the softmax over
  // blocks of q . mean / sqrt(width). Otherwise each head chooses by q . mean.
  bool heads_choose_together = false;
  // Slot of the state that keeps the means of blocks, so that a step of a
  // decoder reads the keys of few blocks again. Per row, [rows, key heads,
  // blocks, width], where the number of blocks is rounded up to a power of two.
  int means_slot = ScoreWidths::kNoSlot;
};

// The gate of a block is q . mean(k), with the mean over the keys of the block
// that the query sees. Among equal gates, the earlier block comes first. A
// block whose gate is NaN comes last.
template <typename T>
KeyRanges ChooseBlocks(Tape<T>& tape, const ScoreInputs<T>& in,
                       const BlockChoice& choice);

}  // namespace regard

#endif  // ATTENTION_SELECTIONS_KEY_BLOCKS_H_
