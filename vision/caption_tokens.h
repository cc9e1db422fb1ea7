// The tokens of a captioner's sentences: words or subwords.
#ifndef VISION_CAPTION_TOKENS_H_
#define VISION_CAPTION_TOKENS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/images/caption_set.h"
#include "data/text/vocabulary.h"
#include "data/text/wordpiece.h"
#include "options/config_problems.h"
#include "vision/captioner.h"

namespace regard {

class CaptionerConfig;

class CaptionTokens {
 public:
  // Creates the vocabulary: the words of the prompt and of the training
  // sentences or, with config.tokens(), subwords. If `data` contains the
  // vocabulary of a trained model, uses this vocabulary. `config` must have
  // passed ValidateCaptioner(). Validate() checks the vocabulary.
  CaptionTokens(const CaptionerConfig& config, const CaptionSplits& data);

  // Adds problems of the vocabulary under paths relative to the config.
  void Validate(ConfigProblems& problems) const;
  // The SHA-256 of the vocabulary file; empty if there is none.
  const std::string& digest() const { return digest_; }

  // The vocabulary file of a run: its name and its text. Check() returns an
  // error unless `text` is a valid vocabulary. The error names `path`.
  static const char* FileName(const CaptionerConfig& config);
  std::string ToText() const;
  static absl::Status Check(const CaptionerConfig& config,
                            absl::string_view text, absl::string_view path);

  const CaptionIds& ids() const { return ids_; }
  bool words() const { return !pieces_.has_value(); }
  // The tokenizer of subwords. Must not be called for words.
  const WordPiece& pieces() const { return *pieces_; }

  // Returns the words of a prompt or of a typed sentence, split as in a list of
  // captions.
  static std::vector<std::string> SplitIntoWords(absl::string_view text);
  // Returns notes on words that are partly unknown, in the format of
  // UnknownWordReporter.
  std::vector<std::string> UnknownWordNotes(
      absl::Span<const std::string> words) const;

  // Returns the ids of words, without the first and the last id of a sentence.
  std::vector<int32_t> Encode(absl::Span<const std::string> words) const;
  // Returns the names of the ids of Encode(). Unknown words keep their own
  // names if the tokens are words.
  std::vector<std::string> Names(absl::Span<const std::string> words) const;
  std::string Name(int32_t id) const;

  // Returns the words of a sentence that consists of the words `prompt` and the
  // tokens `ids`.
  std::vector<std::string> Decode(
      absl::Span<const int32_t> ids,
      absl::Span<const std::string> prompt = {}) const;
  // Returns words, unknown words included, in the spelling that Decode()
  // writes.
  std::vector<std::string> SpelledAsDecoded(
      absl::Span<const std::string> words) const;

 private:
  bool IsKnownWord(absl::string_view word) const;

  Vocabulary words_;
  std::optional<WordPiece> pieces_;  // empty if each word is a token
  std::string begin_;                // begin token of subword models
  std::string digest_;
  std::optional<ConfigProblems::Problem> problem_;
  CaptionIds ids_ = {};
};

}  // namespace regard

#endif  // VISION_CAPTION_TOKENS_H_
