// Texts with masked words: selects the tokens to predict, and masks them
// (Devlin et al., "BERT", 2019, section 3.1 and appendix A).
#ifndef LANGUAGE_MASKED_TEXT_H_
#define LANGUAGE_MASKED_TEXT_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/random.h"
#include "data/text/wordpiece.h"
#include "language/bert.h"
#include "language/bert.pb.h"
#include "language/text_pairs.h"
#include "language/text_vocabulary.h"
#include "options/config_problems.h"

namespace regard {

// Adds problems under paths relative to `config`.
void ValidateMaskedWords(const MaskedWordsConfig& config,
                         ConfigProblems& problems);

// Returns the tokenizer options. If `config` names a vocabulary, texts are
// tokenized as BERT does. Otherwise, the tokens are words separated by white
// space.
WordPieceOptions TokenOptions(const MaskedWordsConfig& config);

// Encodes a text with its lines and documents. Empty lines separate documents
// and are dropped.
EncodedText EncodeLines(const WordPiece& pieces, absl::string_view text);

// A batch in the arena of a step.
struct MaskedBatch {
  BertBatch input;
  // The positions of the predicted tokens, as row * time + position.
  absl::Span<const int32_t> positions;
  // The original ids of the predicted tokens.
  absl::Span<const int32_t> targets;
  // [size]: 1 if the second segment does not follow the first (as in
  // transformers), else 0. Empty without pairs.
  absl::Span<const int32_t> apart;
};

// Divides a text into examples, and masks them. Immutable.
class MaskedText {
 public:
  // `maskable` [vocabulary] is true for ids that may be masked. `seed`
  // determines the pairs of MakeTextPairs(). All references must outlive this
  // object.
  MaskedText(const WordPiece& pieces, const MaskedWordsConfig& config,
             const EncodedText& text, const std::vector<bool>& maskable,
             uint64_t seed);

  int64_t size() const { return static_cast<int64_t>(examples_.size()); }
  // Returns the number of tokens of an example to predict: `share` of the
  // maskable tokens, rounded. At least one if the example has maskable tokens.
  // With whole_words, the number is a maximum, and words that would exceed it
  // are skipped.
  int64_t NumPredicted(int64_t example) const;
  // Returns the number of tokens, [CLS] and [SEP] included.
  int64_t Length(int64_t example) const;

  struct Masking {
    double share;  // as in MaskedWordsConfig
    double mask_share;
    double random_share;
    // The predicted tokens and their replacements depend only on `seed`, `step`
    // and the example.
    uint64_t seed;
    int64_t step;
  };
  MaskedBatch MakeBatch(absl::Span<const int64_t> examples,
                        const Masking& masking, Arena& arena) const;

 private:
  int64_t NumMaskable(const SegmentPair& example) const;
  int64_t NumPredictedOf(int64_t maskable, double share) const;
  // Masks a row in place. Returns the number of positions that it wrote to
  // `positions`.
  int64_t MaskRow(int64_t example, const Masking& masking, int64_t row_begin,
                  absl::Span<int32_t> row, Arena& arena, int32_t* positions,
                  int32_t* targets) const;

  const WordPiece& pieces_;
  const MaskedWordsConfig config_;
  const EncodedText& text_;
  const std::vector<bool>& maskable_;
  std::vector<int32_t> random_ids_;    // all maskable ids
  std::vector<SegmentPair> examples_;  // `second` is empty without pairs
};

}  // namespace regard

#endif  // LANGUAGE_MASKED_TEXT_H_
