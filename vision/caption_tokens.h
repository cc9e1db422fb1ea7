// How a captioner spells sentences: in words, or in pieces of words.
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
  // The words of the prompt and of the training sentences or, with
  // config.tokens(), the pieces of its vocabulary; those that a trained model
  // has kept, if `data` has them. `config` has passed ValidateCaptioner(); see
  // also Validate().
  CaptionTokens(const CaptionerConfig& config, const CaptionSplits& data);

  // Adds what is wrong with the vocabulary, under paths relative to the config.
  void Validate(ConfigProblems& problems) const;
  // SHA-256 of the file of the vocabulary; empty if there is none.
  const std::string& digest() const { return digest_; }

  // The name of a run's file of tokens, its text, and an error unless `text`
  // is such a one; `path` names it.
  static const char* FileName(const CaptionerConfig& config);
  std::string ToText() const;
  static absl::Status Check(const CaptionerConfig& config,
                            absl::string_view text, absl::string_view path);

  const CaptionIds& ids() const { return ids_; }
  bool words() const { return !pieces_.has_value(); }
  // Only of pieces of words.
  const WordPiece& pieces() const { return *pieces_; }

  // The words of a prompt or of a sentence that a user typed, as a list of
  // captions has them.
  static std::vector<std::string> Prompt(absl::string_view text);
  // Names the words of which a part is unknown, as UnknownWords does.
  std::vector<std::string> NotesOn(absl::Span<const std::string> words) const;

  // The ids of words, without the first and the last one.
  std::vector<int32_t> Encode(absl::Span<const std::string> words) const;
  // What these ids are called; of words, unknown ones by themselves.
  std::vector<std::string> Names(absl::Span<const std::string> words) const;
  std::string Name(int32_t id) const;

  // The words of a sentence that goes on with `ids` after the words `prompt`,
  // as they are written.
  std::vector<std::string> Decode(
      absl::Span<const int32_t> ids,
      absl::Span<const std::string> prompt = {}) const;
  // Words as Decode() writes them, unknown ones too.
  std::vector<std::string> Spelled(absl::Span<const std::string> words) const;

 private:
  bool Knows(absl::string_view word) const;

  Vocabulary words_;
  std::optional<WordPiece> pieces_;  // absent: each word is a token
  std::string begin_;                // of pieces
  std::string digest_;
  std::optional<ConfigProblems::Problem> problem_;
  CaptionIds ids_ = {};
};

}  // namespace regard

#endif  // VISION_CAPTION_TOKENS_H_
