// The n-grams of a sentence and how many of them another sentence shares.
#ifndef SEQ2SEQ_METRICS_NGRAMS_H_
#define SEQ2SEQ_METRICS_NGRAMS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// Words or characters in a row. N-grams are pieces of its text, so it must
// outlive them and stay where it is.
class UnitSequence {
 public:
  // Words hold no space.
  static UnitSequence Words(absl::Span<const std::string> words);
  // The characters of `text` without its white space.
  static UnitSequence Characters(absl::string_view text);

  int64_t size() const { return static_cast<int64_t>(units_.size()); }

  // Units first .. first + order - 1; order >= 1.
  absl::string_view Ngram(int64_t first, int order) const;

 private:
  struct Unit {
    size_t begin = 0;  // bytes of text_
    size_t end = 0;
  };

  std::string text_;
  std::vector<Unit> units_;
};

// How often each n-gram occurs.
using NgramCounts = std::map<absl::string_view, int64_t>;

NgramCounts CountNgrams(const UnitSequence& sequence, int order);

// max(0, size - order + 1).
int64_t NumNgrams(const UnitSequence& sequence, int order);

// The n-grams that both sides have, each as often as the poorer side has it.
int64_t SharedNgrams(const NgramCounts& a, const NgramCounts& b);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_NGRAMS_H_
