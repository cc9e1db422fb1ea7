// Texts with masked words: which tokens are predicted, and what stands in their
// place (Devlin et al., "BERT", 2019, section 3.1 and appendix A).
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

// Paths are relative to `config`.
void ValidateMaskedWords(const MaskedWordsConfig& config,
                         ConfigProblems& problems);

// How texts are cut: into words that white space separates, or, with a
// vocabulary, as BERT's tokeniser does.
WordPieceOptions TokenOptions(const MaskedWordsConfig& config);

// With lines and documents: empty lines separate documents, and are left out.
EncodedText EncodeLines(const WordPiece& pieces, absl::string_view text);

// In the arena of a step.
struct MaskedBatch {
  BertBatch input;
  // What is predicted: row * time + position, and the id that stood there.
  absl::Span<const int32_t> positions;
  absl::Span<const int32_t> targets;
  // [size]: 1 where the second piece does not follow the first (as in
  // transformers); empty if there are no pairs.
  absl::Span<const int32_t> apart;
};

// Cuts a text into examples, and masks them. Does not change once made.
class MaskedText {
 public:
  // `known` says of each id whether it may be masked. `seed` is that of the
  // pairs, of which the examples are a function; see MakeTextPairs(). All
  // but the numbers and the config outlive this.
  MaskedText(const WordPiece& pieces, const MaskedWordsConfig& config,
             const EncodedText& text, const std::vector<bool>& known,
             uint64_t seed);

  int64_t size() const { return static_cast<int64_t>(examples_.size()); }
  // How many tokens of an example are predicted: the share of those that are
  // known, rounded, and at least one if any is. With whole words it is the
  // most: a word that would exceed it is passed over.
  int64_t Predicted(int64_t example) const;
  // Tokens with [CLS] and [SEP].
  int64_t Length(int64_t example) const;

  struct Masking {
    double share;  // as in MaskedWordsConfig
    double mask_share;
    double random_share;
    // Which tokens are predicted and what becomes of them is a function of
    // (seed, step, example).
    uint64_t seed;
    int64_t step;
  };
  MaskedBatch MakeBatch(absl::Span<const int64_t> examples,
                        const Masking& masking, Arena& arena) const;

 private:
  int64_t Known(const TextPair& example) const;
  int64_t PredictedOf(int64_t known, double share) const;
  // Masks a row in place; returns how many positions it appended.
  int64_t MaskRow(int64_t example, const Masking& masking, int64_t row_begin,
                  absl::Span<int32_t> row, Arena& arena, int32_t* positions,
                  int32_t* targets) const;

  const WordPiece& pieces_;
  const MaskedWordsConfig config_;
  const EncodedText& text_;
  const std::vector<bool>& known_;
  std::vector<int32_t> random_ids_;  // the known ones
  std::vector<TextPair> examples_;   // without pairs, second is empty
};

}  // namespace regard

#endif  // LANGUAGE_MASKED_TEXT_H_
