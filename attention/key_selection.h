// Which keys each query may see at all, chosen before there are scores: blocks
// of keys whose mean fits the query, ... What nobody sees is not computed, in
// neither driver (docs/attention_drivers.md).
//
// A selection is a class of one method and one line of registration:
//
//   template <typename T>
//   class FirstKeys : public KeySelection<T> {
//    public:
//     using Options = FirstKeysSelection;
//     FirstKeys(const Options&, const ScoreWidths&) {}
//     KeyRanges Select(Forward<T>& forward,
//                      const ScoreInputs<T>& in) const override {
//       KeyRanges ranges = NoKeys(forward.tape(), in, /*most=*/1);
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
  // Whether Select() multiplies queries by prepared keys. Both then need one
  // width.
  static constexpr bool kComparesKeys = false;

  virtual ~KeySelection() = default;

  // Adds what is wrong with the options for these widths, under paths relative
  // to the options. A selection with limits besides (range) declares its own.
  static void Validate(const auto& options, const ScoreWidths&,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  // The keys of each row [batch, heads, queries], in rows of inputs.keys.
  // Called once for each call of attention, with queries and keys that carry
  // their position encoding.
  //
  // A row's choice depends on nothing but its query, and the keys that
  // inputs.mask lets it see with their positions. A selection that obeys this
  // reads no future key, and padding, other examples and the number of queries
  // in the call change nothing: a decoder's step selects what the whole pass
  // does. It may depend on the other heads of its query.
  //
  // Ranges are data. No gradient flows through them, neither to queries nor to
  // keys, and therefore a selection has no parameters.
  virtual KeyRanges Select(Forward<T>& forward,
                           const ScoreInputs<T>& inputs) const = 0;
};

// No range yet for any query of these inputs.
template <typename T>
KeyRanges NoKeys(Tape<T>& tape, const ScoreInputs<T>& in, int64_t most) {
  const Shape& q = in.queries.shape();
  return KeyRanges::New(tape.arena(), q[0], q[1], q[2], most);
}

template <typename T>
using KeySelectionFactory = OptionFactory<KeySelection<T>, const ScoreWidths&>;

// The description says which keys are selected.
struct KeySelectionInfo : NumericInfo<KeySelectionFactory, ScoreWidths> {
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
