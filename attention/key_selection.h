// Interface of key selections. A selection chooses which keys each query may
// see, before scores are computed. For example, a selection may choose the
// blocks of keys whose means have the largest inner product with the query. If
// no query selects a key, the scores of this key are not computed
// (docs/attention_drivers.md).
//
// A selection is a class with one method and one line of registration:
//
//   template <typename T>
//   class FirstKeys : public KeySelection<T> {
//    public:
//     using Options = FirstKeysSelection;
//     FirstKeys(const Options&, const ScoreWidths&) {}
//     KeyRanges Select(Forward<T>& forward,
//                      const ScoreInputs<T>& in) const override {
//       KeyRanges ranges = EmptyKeyRanges(forward.tape(), in, /*most=*/1);
//       ... ranges.Add(example, head, query, {0, 8}) for each ...
//       return ranges;
//     }
//   };
//   REGARD_KEY_SELECTION(FirstKeys, "the first 8 keys")
#ifndef ATTENTION_KEY_SELECTION_H_
#define ATTENTION_KEY_SELECTION_H_

#include "attention/key_ranges.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "options/config_problems.h"
#include "options/option_registry.h"

namespace regard {

class KeySelectionConfig;

template <typename T>
class KeySelection {
 public:
  // Whether Select() multiplies queries by prepared keys. Queries and prepared
  // keys must then have the same width.
  static constexpr bool kComparesKeys = false;

  virtual ~KeySelection() = default;

  // Adds the problems of the options for these widths, under paths relative to
  // the options. A selection with limits other than (range) defines its own
  // Validate().
  static void Validate(const auto& options, const ScoreWidths&,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  // Returns the selected rows of inputs.keys for each row of [batch, heads,
  // queries]. Called once per call of attention, after the position encoding.
  //
  // The choice for a row may depend only on the query, in all heads, and on the
  // visible keys and their positions. inputs.mask says which keys are visible.
  // Future keys, padding, other examples and the number of queries then have no
  // effect. In particular, a step of a decoder selects the same keys as the
  // whole pass.
  //
  // No gradient flows through the ranges, so a selection has no parameters.
  virtual KeyRanges Select(Forward<T>& forward,
                           const ScoreInputs<T>& inputs) const = 0;
};

// Returns ranges for `in` without any keys. `most` is the maximum number of
// ranges per row.
template <typename T>
KeyRanges EmptyKeyRanges(Tape<T>& tape, const ScoreInputs<T>& in,
                         int64_t most) {
  const Shape& q = in.queries.shape();
  return KeyRanges::New(tape.arena(), q[0], q[1], q[2], most);
}

template <typename T>
using KeySelectionFactory = PluginFactory<KeySelection<T>, const ScoreWidths&>;

// A registered selection. The description says which keys it selects.
struct KeySelectionInfo : TemplatePluginInfo<KeySelectionFactory, ScoreWidths> {
  bool compares_keys;

  template <typename Plugin>
  void Describe() {
    compares_keys = Plugin::kComparesKeys;
  }
};

class KeySelectionRegistry
    : public PluginRegistry<KeySelectionConfig, KeySelectionInfo> {
 public:
  KeySelectionRegistry();
};

#define REGARD_KEY_SELECTION(name, description) \
  REGARD_PLUGIN(KeySelectionRegistry, name, description)

}  // namespace regard

#endif  // ATTENTION_KEY_SELECTION_H_
