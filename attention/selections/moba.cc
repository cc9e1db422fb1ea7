// Mixture of block attention. In each head, a query sees the top_k blocks with
// the largest gate,
//
//   gate(q, block) = q . mean of the block's keys.
//
// In causal attention, one of these blocks is the query's own block. Lu et al.,
// "MoBA: Mixture of block attention for long-context LLMs", 2025 (arXiv
// 2502.13189). The mean is over the keys that the query sees, so masked keys do
// not change the choice. If top_k is at least the number of blocks, the result
// is bit-identical to plain attention.
#include "attention/key_selection.h"
#include "attention/selections/key_blocks.h"
#include "attention/selections/selection.pb.h"

namespace regard {

template <typename T>
class Moba : public KeySelection<T> {
 public:
  using Options = MobaSelection;
  static constexpr bool kComparesKeys = true;

  Moba(const Options& options, const ScoreWidths& widths)
      : choice_{.size = options.block_size(),
                .chosen = options.top_k(),
                .initial = 0,
                .local = 1,
                .heads_choose_together = false,
                .means_slot = widths.AddStateSlot("means")} {}

  KeyRanges Select(Forward<T>& forward,
                   const ScoreInputs<T>& inputs) const override {
    return ChooseBlocks(forward.tape(), inputs, choice_);
  }

 private:
  BlockChoiceRule choice_;
};

REGARD_KEY_SELECTION(Moba, "top_k blocks of keys by q . mean(k)")

}  // namespace regard
