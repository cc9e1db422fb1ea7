#include "seq2seq/metrics/ngrams.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

UnitSequence UnitSequence::Words(absl::Span<const std::string> words) {
  UnitSequence sequence;
  for (const std::string& word : words) {
    if (!sequence.text_.empty()) sequence.text_ += ' ';
    const size_t begin = sequence.text_.size();
    sequence.text_ += word;
    sequence.units_.push_back({.begin = begin, .end = sequence.text_.size()});
  }
  return sequence;
}

UnitSequence UnitSequence::Characters(absl::string_view text) {
  UnitSequence sequence;
  for (const Character& character : regard::Characters(text)) {
    if (IsWhitespace(character.code_point)) continue;
    const size_t begin = sequence.text_.size();
    absl::StrAppend(&sequence.text_, character.bytes);
    sequence.units_.push_back({.begin = begin, .end = sequence.text_.size()});
  }
  return sequence;
}

absl::string_view UnitSequence::Ngram(int64_t first, int order) const {
  REGARD_DCHECK(order >= 1 && first >= 0 && first + order <= size());
  const size_t begin = units_[first].begin;
  return absl::string_view(text_).substr(begin,
                                         units_[first + order - 1].end - begin);
}

NgramCounts CountNgrams(const UnitSequence& sequence, int order) {
  NgramCounts counts;
  for (int64_t i = 0; i + order <= sequence.size(); ++i) {
    ++counts[sequence.Ngram(i, order)];
  }
  return counts;
}

int64_t NumNgrams(const UnitSequence& sequence, int order) {
  return std::max<int64_t>(0, sequence.size() - order + 1);
}

int64_t SharedNgrams(const NgramCounts& a, const NgramCounts& b) {
  int64_t shared = 0;
  for (const auto& [ngram, count] : a) {
    const auto found = b.find(ngram);
    if (found != b.end()) shared += std::min(count, found->second);
  }
  return shared;
}

}  // namespace regard
