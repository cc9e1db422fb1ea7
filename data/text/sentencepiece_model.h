// Subwords as sentencepiece models describe them (Kudo and Richardson,
// "SentencePiece: a simple and language independent subword tokenizer and
// detokenizer for neural text processing", EMNLP 2018): byte-pair encoding
// (Sennrich et al. 2016), unigram models (Kudo 2018) and characters.
//
// Text is segmented as the library's own programs do it. The library is not
// linked: it carries an older protobuf with the names of ours.
#ifndef DATA_TEXT_SENTENCEPIECE_MODEL_H_
#define DATA_TEXT_SENTENCEPIECE_MODEL_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/random.h"
#include "data/text/prepared_text.h"
#include "data/text/sentencepiece.pb.h"
#include "data/text/text_normalizer.h"
#include "data/text/vocabulary.h"

namespace regard {

class SubwordSamplingConfig;

// Immutable: one may serve several threads.
class SentencepieceModel {
 public:
  // From the bytes of a model file; `path` names it in errors. Models of whole
  // words, models that fall back to bytes, and pieces of more than 512 bytes
  // are not supported.
  static absl::StatusOr<SentencepieceModel> Parse(absl::string_view bytes,
                                                  absl::string_view path);

  // `text` is UTF-8 without line breaks. No token is empty; empty text has no
  // tokens. A token that the vocabulary lacks is kept as it is written.
  std::vector<std::string> Tokenize(absl::string_view text) const;
  std::string Detokenize(absl::Span<const std::string> tokens) const;

  // A segmentation at random, of a BPE or a unigram model:
  //
  // * Unigram: x with a probability proportional to P(x)^alpha, among all
  //   segmentations or the likeliest nbest_size (Kudo, "Subword
  //   regularization", ACL 2018).
  // * BPE-dropout (Provilkov et al., ACL 2020): merges are made as by
  //   Tokenize(), but each is left out with probability alpha when its turn
  //   comes. As in the library, it is then left out for good: a text is not
  //   cut into words whose merges could all be drawn again.
  std::vector<std::string> Sample(absl::string_view text,
                                  const SubwordSamplingConfig& sampling,
                                  const RandomStream& random) const;

  // Tokens that `text` can have at most: its characters.
  int64_t MostTokens(absl::string_view text) const;

  bool is_bpe() const { return type_ == sentencepiece::TrainerSpec::BPE; }
  bool is_unigram() const {
    return type_ == sentencepiece::TrainerSpec::UNIGRAM;
  }

  // Its pieces after the reserved tokens, in the order of the model. One that
  // spells a reserved token is left out.
  Vocabulary MakeVocabulary() const;

 private:
  struct Piece {
    float score = 0;
    bool user_defined = false;
    // Takes part in merges. A token only if it is one character, as in Debian's
    // sentencepiece (0.1.97 and 0.2.0); no vocabulary has it.
    bool unused = false;
  };

  SentencepieceModel(TextNormalizer normalizer,
                     sentencepiece::TrainerSpec::ModelType type)
      : normalizer_(std::move(normalizer)), type_(type) {}

  // Null if there is no such piece.
  const Piece* Find(absl::string_view piece) const;
  // Bytes of the longest user-defined piece that text begins with; 0: none.
  size_t UserDefinedPrefix(absl::string_view text) const;
  std::string Normalize(absl::string_view text) const;

  // Pieces of normalised text, in order. `drop` says of each merge in turn
  // whether to leave it out.
  std::vector<absl::string_view> SegmentByMerges(
      absl::string_view text, absl::FunctionRef<bool()> drop) const;
  std::vector<absl::string_view> SegmentByScores(absl::string_view text) const;
  // `text` is not empty.
  std::vector<absl::string_view> SampleByScores(
      absl::string_view text, const SubwordSamplingConfig& sampling,
      const RandomStream& random) const;
  // Calls visit(begin, bytes, piece) for the pieces that text may be cut into,
  // by rising `begin`; a character without a piece is one, too, and null.
  template <typename Visit>
  void ForEachPiece(absl::string_view text, Visit visit) const;
  // `piece` is one that ForEachPiece() found. The library counts the length in
  // bytes where it looks for the best segmentation, else in characters.
  double Score(const Piece* piece, size_t length) const;
  // Its characters; user-defined pieces stay whole.
  std::vector<absl::string_view> Symbols(absl::string_view text) const;
  // Unknown pieces in a row are one token.
  std::vector<std::string> Tokens(
      absl::Span<const absl::string_view> pieces) const;

  TextNormalizer normalizer_;
  sentencepiece::TrainerSpec::ModelType type_;
  std::vector<std::string> order_;  // pieces of text, as in the model
  absl::flat_hash_map<std::string, Piece> pieces_;
  size_t longest_ = 0;       // bytes of a piece
  size_t longest_user_ = 0;  // of a user-defined one; 0: there is none
  float lowest_score_ = 0;
  float highest_score_ = std::numeric_limits<float>::min();  // at least
};

// What makes tokens of raw text. The models are null where tokens are words, by
// `rules`. Shared, because data and translators are copied and outlive each
// other.
struct Tokenizers {
  std::shared_ptr<const SentencepieceModel> source = nullptr;
  std::shared_ptr<const SentencepieceModel> target = nullptr;
  TextRules rules = {};
};

}  // namespace regard

#endif  // DATA_TEXT_SENTENCEPIECE_MODEL_H_
