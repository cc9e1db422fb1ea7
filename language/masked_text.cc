#include "language/masked_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "seq2seq/padded_ids.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

WordPieceOptions TokenOptions(const MaskedWordsConfig& config) {
  WordPieceOptions options;
  options.lower_case = config.lower_case();
  if (!config.vocabulary().empty()) return options;
  options.unknown = "<unk>";
  options.split_chinese = false;
  options.strip_accents = false;
  options.split_punctuation = false;
  options.continuations = false;
  return options;
}

void ValidateMaskedWords(const MaskedWordsConfig& config,
                         ConfigProblems& problems) {
  if (config.has_vocabulary() && config.vocabulary().empty()) {
    problems.Add("vocabulary", "must name a file");
  }
  problems.CheckRanges(config);
  if (config.mask_share() + config.random_share() > 1) {
    problems.Add("random_share",
                 absl::StrCat("must be at most 1 - `mask_share` (",
                              1 - config.mask_share(), ")"));
  }
  if (config.whole_words() && config.vocabulary().empty()) {
    problems.Note(
        "whole_words",
        "has no effect without a subword vocabulary: each token is a word");
  }
  const double weight = config.next_sentence_weight();
  if (config.next_sentence()) {
    problems.RequireInRange("next_sentence_weight", weight, 0, 100);
  } else if (weight != MaskedWordsConfig().next_sentence_weight()) {
    problems.Note("next_sentence_weight",
                  "has no effect without next_sentence: true");
  }
}

EncodedText EncodeLines(const WordPiece& pieces, absl::string_view text) {
  EncodedText encoded;
  encoded.lines.push_back(0);
  encoded.documents.push_back(0);
  const auto end_document = [&] {
    const auto end = static_cast<int64_t>(encoded.lines.size()) - 1;
    if (end > encoded.documents.back()) encoded.documents.push_back(end);
  };
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<int32_t> ids = pieces.Tokenize(line);
    if (absl::StripAsciiWhitespace(line).empty()) end_document();
    if (ids.empty()) continue;
    encoded.ids.insert(encoded.ids.end(), ids.begin(), ids.end());
    encoded.lines.push_back(static_cast<int64_t>(encoded.ids.size()));
  }
  end_document();
  return encoded;
}

MaskedText::MaskedText(const WordPiece& pieces, const MaskedWordsConfig& config,
                       const EncodedText& text,
                       const std::vector<bool>& maskable, uint64_t seed)
    : pieces_(pieces), config_(config), text_(text), maskable_(maskable) {
  REGARD_CHECK_EQ(static_cast<int64_t>(maskable.size()),
                  int64_t{pieces.size()});
  for (int32_t id = 0; id < pieces.size(); ++id) {
    if (maskable[static_cast<size_t>(id)]) random_ids_.push_back(id);
  }
  if (!config.next_sentence()) {
    const auto end = static_cast<int64_t>(text.ids.size());
    const int64_t length = config.block() - 2;
    for (int64_t begin = 0; begin < end; begin += length) {
      examples_.push_back(
          {{begin, std::min(begin + length, end)}, {0, 0}, false});
    }
    return;
  }
  examples_ =
      MakeTextPairs(text.lines, text.documents, config.block() - 3, seed);
}

int64_t MaskedText::Length(int64_t example) const {
  const SegmentPair& of = examples_[static_cast<size_t>(example)];
  const int64_t pair = config_.next_sentence() ? 1 : 0;
  return of.first.size() + of.second.size() + 2 + pair;
}

int64_t MaskedText::NumMaskable(const SegmentPair& example) const {
  int64_t count = 0;
  for (const TokenRange& piece : {example.first, example.second}) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      count += maskable_[static_cast<size_t>(text_.ids[i])] ? 1 : 0;
    }
  }
  return count;
}

int64_t MaskedText::NumPredictedOf(int64_t maskable, double share) const {
  if (maskable == 0) return 0;
  return std::max<int64_t>(1,
                           std::llround(share * static_cast<double>(maskable)));
}

int64_t MaskedText::NumPredicted(int64_t example) const {
  return NumPredictedOf(NumMaskable(examples_[static_cast<size_t>(example)]),
                        config_.share());
}

MaskedBatch MaskedText::MakeBatch(absl::Span<const int64_t> examples,
                                  const Masking& masking, Arena& arena) const {
  const auto size = static_cast<int64_t>(examples.size());
  int64_t time = 0;
  int64_t most = 0;
  for (const int64_t example : examples) {
    time = std::max(time, Length(example));
    most += NumPredictedOf(NumMaskable(examples_[static_cast<size_t>(example)]),
                           masking.share);
  }
  const bool pairs = config_.next_sentence();
  PaddedIds ids = EmptyRows(size, time, pieces_.separator(), arena);
  // Padding counts as part of the second segment.
  const PaddedIds types = EmptyRows(pairs ? size : 0, time, /*pad=*/1, arena);
  auto* const apart = arena.New<int32_t>(size);
  auto* const positions = arena.New<int32_t>(most);
  auto* const targets = arena.New<int32_t>(most);
  int64_t count = 0;
  for (int64_t row = 0; row < size; ++row) {
    const int64_t number = examples[static_cast<size_t>(row)];
    const SegmentPair& example = examples_[static_cast<size_t>(number)];
    const int32_t& length = ids.lengths[static_cast<size_t>(row)];
    const auto append = [&](const TokenRange& piece) {
      ids.Append(row, absl::MakeConstSpan(text_.ids).subspan(
                          static_cast<size_t>(piece.begin),
                          static_cast<size_t>(piece.size())));
      ids.Append(row, {pieces_.separator()});
    };
    ids.Append(row, {pieces_.classifier()});
    append(example.first);
    if (pairs) {
      std::fill_n(types.ids.data() + row * time, length, 0);
      append(example.second);
      apart[row] = example.apart ? 1 : 0;
    }
    count += MaskRow(number, masking, row * time,
                     {ids.ids.data() + row * time, static_cast<size_t>(length)},
                     arena, positions + count, targets + count);
  }
  const auto predicted = static_cast<size_t>(count);
  return {.input = {.size = size,
                    .ids = ids.ids,
                    .types = types.ids,
                    .lengths = ids.lengths},
          .positions = {positions, predicted},
          .targets = {targets, predicted},
          .apart = {apart, pairs ? examples.size() : 0}};
}

int64_t MaskedText::MaskRow(int64_t example, const Masking& masking,
                            int64_t row_begin, absl::Span<int32_t> row,
                            Arena& arena, int32_t* positions,
                            int32_t* targets) const {
  // The positions of the words that may be masked: begins[i] .. ends[i] - 1 for
  // the i-th word.
  const auto length = static_cast<int64_t>(row.size());
  auto* const begins = arena.New<int32_t>(length);
  auto* const ends = arena.New<int32_t>(length);
  int64_t words = 0;
  int64_t maskable_tokens = 0;
  for (int32_t i = 0; i < length;) {
    const int32_t begin = i;
    bool maskable = maskable_[static_cast<size_t>(row[i++])];
    maskable_tokens += maskable ? 1 : 0;
    // The remaining part of a truncated word counts as a word.
    const bool special = pieces_.IsSpecial(row[begin]);
    while (config_.whole_words() && !special && i < length &&
           pieces_.ContinuesWord(row[i])) {
      const bool also = maskable_[static_cast<size_t>(row[i++])];
      maskable_tokens += also ? 1 : 0;
      maskable = maskable && also;
    }
    if (!maskable) continue;
    begins[words] = begin;
    ends[words++] = i;
  }
  // The draws depend only on the key of this stream.
  const RandomStream random(
      Hash(static_cast<uint64_t>(example),
           Hash(static_cast<uint64_t>(masking.step), masking.seed)),
      "masked_words");
  uint64_t draw = 0;
  const int64_t most = NumPredictedOf(maskable_tokens, masking.share);
  int64_t count = 0;
  for (int64_t i = 0; i < words && count < most; ++i) {
    const auto other = i + static_cast<int64_t>(random.UniformIntAt(
                               draw++, static_cast<uint64_t>(words - i)));
    std::swap(begins[i], begins[other]);
    std::swap(ends[i], ends[other]);
    if (count + ends[i] - begins[i] > most) continue;
    for (int32_t at = begins[i]; at < ends[i]; ++at) {
      positions[count] = static_cast<int32_t>(row_begin) + at;
      targets[count++] = row[at];
      const double kind = random.UniformAt(draw++);
      const uint64_t word = random.UniformIntAt(draw++, random_ids_.size());
      if (kind < masking.mask_share) {
        row[at] = pieces_.mask();
      } else if (kind < masking.mask_share + masking.random_share) {
        row[at] = random_ids_[word];
      }
    }
  }
  return count;
}

}  // namespace regard
