// The selection branch of native sparse attention. For each query, the heads
// that share keys see the same top_n blocks. These are the blocks with the
// largest
//
//   sum over these heads of softmax_block(q . mean of the block's keys /
//                                         sqrt(width)).
//
// The initial blocks are always seen. In causal attention, the local blocks up
// to the query's own block are also always seen. Yuan et al., "Native sparse
// attention: Hardware-aligned and natively trainable sparse attention", 2025
// (arXiv 2502.11089).
//
// In the paper, the compressed branch of attention learns compressed keys from
// overlapping blocks. Here, the means of whole blocks replace these keys.
// Regard does not implement the compressed branch, the sliding window or the
// gates that join the three branches. If top_n is at least the number of
// blocks, the result is bit-identical to plain attention.
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "attention/key_selection.h"
#include "attention/selections/key_blocks.h"
#include "attention/selections/selection.pb.h"

namespace regard {

template <typename T>
class NsaBlocks : public KeySelection<T> {
 public:
  using Options = NsaBlocksSelection;
  static constexpr bool kComparesKeys = true;

  NsaBlocks(const Options& options, const ScoreWidths& widths)
      : choice_{.size = options.block_size(),
                .chosen = options.top_n(),
                .initial = options.initial_blocks(),
                .local = options.local_blocks(),
                .heads_choose_together = true,
                .means_slot = widths.AddStateSlot("means")} {}

  static void Validate(const Options& options, const ScoreWidths&,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
    const int64_t always =
        int64_t{options.initial_blocks()} + options.local_blocks();
    if (options.top_n() < always) {
      problems.Add(
          "top_n",
          absl::StrCat("must be at least initial_blocks + local_blocks "
                       "(",
                       always, "), which a query always sees; got ",
                       options.top_n()));
    }
  }

  KeyRanges Select(Forward<T>& forward,
                   const ScoreInputs<T>& inputs) const override {
    return ChooseBlocks(forward.tape(), inputs, choice_);
  }

 private:
  BlockChoiceRule choice_;
};

REGARD_KEY_SELECTION(NsaBlocks, "top_n blocks of keys by summed softmax")

}  // namespace regard
