// Selects all keys, like attention without a selection.
#include <cstdint>

#include "attention/key_selection.h"
#include "attention/selections/selection.pb.h"

namespace regard {

template <typename T>
class AllKeys : public KeySelection<T> {
 public:
  using Options = NoKeySelection;

  AllKeys(const Options&, const ScoreWidths&) {}

  KeyRanges Select(Forward<T>& forward,
                   const ScoreInputs<T>& in) const override {
    KeyRanges ranges = EmptyKeyRanges(forward.tape(), in, /*most=*/1);
    for (int64_t example = 0; example < in.queries.dim(0); ++example) {
      for (int64_t head = 0; head < in.queries.dim(1); ++head) {
        for (int64_t query = 0; query < in.queries.dim(2); ++query) {
          ranges.Add(example, head, query,
                     {0, static_cast<int32_t>(in.keys.dim(2))});
        }
      }
    }
    return ranges;
  }
};

REGARD_KEY_SELECTION(AllKeys, "all keys")

}  // namespace regard
