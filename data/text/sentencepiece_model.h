// Reads sentencepiece models and segments text into subwords with them:
// byte-pair encoding (Sennrich et al. 2016), unigram models (Kudo 2018) and
// characters. Segmentations are the same as in sentencepiece's own programs.
//
// Source: Kudo and Richardson, "SentencePiece: a simple and language
// independent subword tokenizer and detokenizer for neural text processing",
// EMNLP 2018.
//
// The library itself is not linked, because it contains an older version of
// protobuf with the same symbols.
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

// A subword model. Immutable, and therefore thread-safe.
class SentencepieceModel {
 public:
  // Parses the bytes of a model file. `path` names it in errors. Models of
  // whole words, models with byte fallback, and pieces of more than 512 bytes
  // are not supported.
  static absl::StatusOr<SentencepieceModel> Parse(absl::string_view bytes,
                                                  absl::string_view path);

  // Returns the tokens of `text`, which must be UTF-8 without line breaks. No
  // token is empty, and empty text has no tokens. A token that the vocabulary
  // lacks is returned as written.
  std::vector<std::string> Tokenize(absl::string_view text) const;
  std::string Detokenize(absl::Span<const std::string> tokens) const;

  // Returns a random segmentation by a BPE or a unigram model.
  // * Unigram: a segmentation x has a probability proportional to P(x)^alpha,
  //   among all segmentations or the nbest_size most likely ones (Kudo,
  //   "Subword regularization", ACL 2018).
  // * BPE-dropout (Provilkov et al., ACL 2020): merges are tried in the same
  //   order as in Tokenize(), and each is skipped with probability alpha. As
  //   in the library, a skipped merge is not tried again in the same text.
  std::vector<std::string> Sample(absl::string_view text,
                                  const SubwordSamplingConfig& sampling,
                                  const RandomStream& random) const;

  // Returns the number of characters of the normalized text, which is an upper
  // bound on the number of tokens.
  int64_t MaxTokens(absl::string_view text) const;

  bool is_bpe() const { return type_ == sentencepiece::TrainerSpec::BPE; }
  bool is_unigram() const {
    return type_ == sentencepiece::TrainerSpec::UNIGRAM;
  }

  // Returns the vocabulary: the reserved tokens, then the pieces in the order
  // of the model. A piece that spells a reserved token is omitted.
  Vocabulary MakeVocabulary() const;

 private:
  struct Piece {
    float score = 0;
    bool user_defined = false;
    // Whether the piece is only an intermediate result of merges, which is
    // split again in the end. A piece of one character is not split. This is
    // the behaviour of sentencepiece 0.1.97 and 0.2.0. No vocabulary contains
    // an unused piece.
    bool unused = false;
  };

  SentencepieceModel(TextNormalizer normalizer,
                     sentencepiece::TrainerSpec::ModelType type)
      : normalizer_(std::move(normalizer)), type_(type) {}

  // Returns null if the model does not contain `piece`.
  const Piece* Find(absl::string_view piece) const;
  // Returns the number of bytes of the longest user-defined piece with which
  // text begins, or 0 if there is none.
  size_t UserDefinedPrefix(absl::string_view text) const;
  std::string Normalize(absl::string_view text) const;

  // Returns the pieces of normalized text, in order. `drop` is called for each
  // merge, and returns whether to skip it.
  std::vector<absl::string_view> SegmentByMerges(
      absl::string_view text, absl::FunctionRef<bool()> drop) const;
  std::vector<absl::string_view> SegmentByScores(absl::string_view text) const;
  // `text` must not be empty.
  std::vector<absl::string_view> SampleByScores(
      absl::string_view text, const SubwordSamplingConfig& sampling,
      const RandomStream& random) const;
  // Calls visit(begin, bytes, piece) for all pieces into which text can be
  // split, in ascending order of `begin`. A character without a piece counts as
  // a piece. `piece` is then null.
  template <typename Visit>
  void ForEachPieceOccurrence(absl::string_view text, Visit visit) const;
  // Returns the score of a `piece` from ForEachPieceOccurrence(). As in the
  // library, `length` counts bytes in the search for the best segmentation, and
  // characters in sampling.
  double Score(const Piece* piece, size_t length) const;
  // Returns the characters of `text`. User-defined pieces are not split.
  std::vector<absl::string_view> SplitIntoCharacters(
      absl::string_view text) const;
  // Converts pieces to tokens. Consecutive unknown pieces become one token.
  std::vector<std::string> MergeUnknownPieces(
      absl::Span<const absl::string_view> pieces) const;

  TextNormalizer normalizer_;
  sentencepiece::TrainerSpec::ModelType type_;
  std::vector<std::string> order_;  // pieces of text, in the order of the model
  absl::flat_hash_map<std::string, Piece> pieces_;
  size_t longest_ = 0;       // length of the longest piece, in bytes
  size_t longest_user_ = 0;  // length of the longest user-defined piece, or 0
  float lowest_score_ = 0;
  // The highest score of a piece, but at least this initial value, as in the
  // library.
  float highest_score_ = std::numeric_limits<float>::min();
};

// The tokenizers of raw text. If the models are null, tokens are words, which
// `rules` determine. The models are shared, because data and translators are
// copied and can outlive each other.
struct Tokenizers {
  std::shared_ptr<const SentencepieceModel> source = nullptr;
  std::shared_ptr<const SentencepieceModel> target = nullptr;
  TextRules rules = {};
};

}  // namespace regard

#endif  // DATA_TEXT_SENTENCEPIECE_MODEL_H_
