#include "seq2seq/metrics/ter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

// Limits of Tercom, which are part of the metric.
constexpr int kMaxShiftWords = 10;
constexpr int kMaxShiftDistance = 50;
constexpr int kMaxShiftCandidates = 1000;
constexpr int kBeamWidth = 25;

constexpr int64_t kInfinity = std::numeric_limits<int64_t>::max() / 2;

enum class Edit : char { kNone, kMatch, kSubstitute, kDelete, kInsert };

struct Cell {
  int64_t cost = kInfinity;
  Edit edit = Edit::kNone;
};

using Words = std::vector<int32_t>;  // ids of words
using Row = std::vector<Cell>;

// Edit distances near the diagonal, between sentences of the same length and
// one reference. Row 0 is the empty sentence, and row i ends with word i.
class BandedDistance {
 public:
  BandedDistance(const Words& reference, int64_t sentence_words)
      : reference_(reference),
        words_(sentence_words),
        width_(static_cast<int64_t>(reference.size())),
        ratio_(sentence_words == 0 ? 1.0
                                   : static_cast<double>(width_) /
                                         static_cast<double>(sentence_words)),
        beam_(kBeamWidth < ratio_ / 2
                  ? static_cast<int64_t>(std::ceil(ratio_ / 2 + kBeamWidth))
                  : kBeamWidth),
        rows_(sentence_words + 1, Row(width_ + 1)) {
    for (int64_t j = 0; j <= width_; ++j) rows_[0][j] = {j, Edit::kInsert};
  }

  // Returns the edit distance. The rows of a prefix shared with the previous
  // sentence are not computed again.
  int64_t Cost(const Words& sentence) {
    int64_t i = 1;
    while (i <= std::ssize(last_) && sentence[i - 1] == last_[i - 1]) ++i;
    for (; i <= words_; ++i) {
      FillRow(sentence[i - 1], i, rows_[i - 1], rows_[i]);
    }
    last_ = sentence;
    return rows_[words_][width_].cost;
  }

  // Returns the edits that turn the last sentence into the reference, from left
  // to right.
  std::vector<Edit> Edits() const {
    std::vector<Edit> edits;
    int64_t i = words_;
    int64_t j = width_;
    while (i > 0 || j > 0) {
      const Edit edit = rows_[i][j].edit;
      REGARD_CHECK(edit != Edit::kNone) << "outside of the band";
      edits.push_back(edit);
      if (edit != Edit::kInsert) --i;
      if (edit != Edit::kDelete) --j;
    }
    std::reverse(edits.begin(), edits.end());
    return edits;
  }

 private:
  void FillRow(int32_t word, int64_t i, const Row& above, Row& row) const {
    const auto diagonal =
        static_cast<int64_t>(std::floor(static_cast<double>(i) * ratio_));
    const int64_t begin = std::max<int64_t>(0, diagonal - beam_);
    const int64_t end =
        i == words_ ? width_ + 1 : std::min(width_ + 1, diagonal + beam_);
    std::fill(row.begin(), row.end(), Cell());
    for (int64_t j = begin; j < end; ++j) {
      Cell& cell = row[j];
      if (j == 0) {
        cell = {above[0].cost + 1, Edit::kDelete};
        continue;
      }
      const bool same = word == reference_[j - 1];
      const auto offer = [&cell](int64_t cost, Edit edit) {
        if (cost < cell.cost) cell = {cost, edit};
      };
      offer(above[j - 1].cost + (same ? 0 : 1),
            same ? Edit::kMatch : Edit::kSubstitute);
      offer(above[j].cost + 1, Edit::kDelete);
      offer(row[j - 1].cost + 1, Edit::kInsert);
    }
  }

  const Words& reference_;
  const int64_t words_;
  const int64_t width_;
  const double ratio_;
  const int64_t beam_;
  Words last_;
  std::vector<Row> rows_;
};

struct EditAlignment {
  // For each reference word, the position of the sentence word aligned with it.
  // -1 before the first word.
  std::vector<int64_t> sentence_of_reference;
  std::vector<bool> reference_errors;
  std::vector<bool> sentence_errors;
};

EditAlignment AlignmentOf(absl::Span<const Edit> edits) {
  EditAlignment alignment;
  int64_t position = -1;
  for (const Edit edit : edits) {
    const bool wrong = edit != Edit::kMatch;
    if (edit != Edit::kInsert) {
      ++position;
      alignment.sentence_errors.push_back(wrong);
    }
    if (edit != Edit::kDelete) {
      alignment.sentence_of_reference.push_back(position);
      alignment.reference_errors.push_back(wrong);
    }
  }
  return alignment;
}

// Returns `words` with the words [start, start + length) moved before `target`.
Words Shifted(const Words& words, int64_t start, int64_t length,
              int64_t target) {
  Words shifted = words;
  const auto begin = shifted.begin();
  if (target < start) {
    std::rotate(begin + target, begin + start, begin + start + length);
  } else if (target > start + length) {
    std::rotate(begin + start, begin + start + length, begin + target);
  } else {
    // A target inside the moved phrase is an offset from the end of the phrase.
    const auto size = static_cast<int64_t>(words.size());
    std::rotate(begin + start, begin + start + length,
                begin + std::min(size, length + target));
  }
  return shifted;
}

bool AnyOf(const std::vector<bool>& flags, int64_t begin, int64_t length) {
  return std::any_of(flags.begin() + begin, flags.begin() + begin + length,
                     [](bool flag) { return flag; });
}

// Searches for the shift that saves the most edits.
class ShiftSearch {
 public:
  ShiftSearch(const Words& reference, int64_t sentence_words)
      : reference_(reference), distance_(reference, sentence_words) {}

  int64_t Distance(const Words& sentence) { return distance_.Cost(sentence); }

  // Returns `nullopt` if no shift saves an edit, or if too many shifts have
  // been tried.
  std::optional<Words> BestShift(const Words& sentence) {
    const int64_t cost = Distance(sentence);
    const EditAlignment alignment = AlignmentOf(distance_.Edits());
    best_.reset();
    const auto words = static_cast<int64_t>(sentence.size());
    const auto wanted = static_cast<int64_t>(reference_.size());
    for (int64_t i = 0; i < words && !exhausted(); ++i) {
      for (int64_t j = 0; j < wanted && !exhausted(); ++j) {
        if (std::abs(i - j) > kMaxShiftDistance) continue;
        for (int64_t length = 1;
             length <= kMaxShiftWords && i + length <= words &&
             j + length <= wanted && !exhausted() &&
             sentence[i + length - 1] == reference_[j + length - 1];
             ++length) {
          TryPhrase(sentence, cost, alignment, i, j, length);
        }
      }
    }
    if (exhausted() || !best_.has_value() || std::get<0>(best_->rank) <= 0) {
      return std::nullopt;
    }
    return std::move(best_->words);
  }

 private:
  struct Candidate {
    // The saved edits, the moved words, the negative origin and the negative
    // target. Greater is better.
    std::tuple<int64_t, int64_t, int64_t, int64_t> rank;
    Words words;
  };

  bool exhausted() const { return tried_ >= kMaxShiftCandidates; }

  // Tries to move the `length` words at `i`, which match the reference at `j`.
  // The targets follow the words aligned with the reference words from j - 1 to
  // j + length - 1.
  void TryPhrase(const Words& sentence, int64_t cost,
                 const EditAlignment& alignment, int64_t i, int64_t j,
                 int64_t length) {
    const std::vector<int64_t>& position = alignment.sentence_of_reference;
    if (!AnyOf(alignment.sentence_errors, i, length)) return;
    if (!AnyOf(alignment.reference_errors, j, length)) return;
    if (i <= position[j] && position[j] < i + length) return;
    int64_t before = -1;
    for (int64_t offset = -1; offset < length; ++offset) {
      const int64_t target = j + offset == -1 ? 0 : position[j + offset] + 1;
      if (target == before) continue;
      before = target;
      Words shifted = Shifted(sentence, i, length, target);
      const std::tuple<int64_t, int64_t, int64_t, int64_t> rank = {
          cost - distance_.Cost(shifted), length, -i, -target};
      ++tried_;
      if (!best_.has_value() || rank > best_->rank) {
        best_ = {rank, std::move(shifted)};
      }
    }
  }

  const Words& reference_;
  BandedDistance distance_;
  int tried_ = 0;
  std::optional<Candidate> best_;
};

int64_t CountEdits(Words sentence, const Words& reference) {
  if (reference.empty()) return static_cast<int64_t>(sentence.size());
  ShiftSearch search(reference, static_cast<int64_t>(sentence.size()));
  int64_t shifts = 0;
  while (std::optional<Words> shifted = search.BestShift(sentence)) {
    sentence = *std::move(shifted);
    ++shifts;
  }
  return shifts + search.Distance(sentence);
}

// Returns ids of words. Equal words have equal ids.
template <typename Text>
Words IdsOf(const Text& words, absl::flat_hash_map<std::string, int32_t>& ids) {
  Words result;
  result.reserve(words.size());
  for (const auto& word : words) {
    result.push_back(
        ids.try_emplace(std::string(word), static_cast<int32_t>(ids.size()))
            .first->second);
  }
  return result;
}

}  // namespace

std::array<double, 2> TerStatistics(const std::string& prediction,
                                    absl::Span<const std::string> references) {
  REGARD_CHECK(!references.empty()) << "a prediction without a reference";
  absl::flat_hash_map<std::string, int32_t> ids;
  const auto words_of = [&](const std::string& text) {
    return IdsOf(SplitOnWhitespace(LowerCase(text)), ids);
  };
  const Words sentence = words_of(prediction);
  int64_t fewest = kInfinity;
  int64_t lengths = 0;
  for (const std::string& reference : references) {
    const Words wanted = words_of(reference);
    fewest = std::min(fewest, CountEdits(sentence, wanted));
    lengths += static_cast<int64_t>(wanted.size());
  }
  return {
      static_cast<double>(fewest),
      static_cast<double>(lengths) / static_cast<double>(references.size())};
}

double TerOfSums(absl::Span<const double> sums) {
  if (sums[1] > 0) return 100 * (sums[0] / sums[1]);
  return sums[0] > 0 ? 100 : 0;
}

std::string TerSignature(int references_each) {
  return absl::StrCat(
      "nrefs:", references_each,
      "|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:regard-1");
}

}  // namespace regard
