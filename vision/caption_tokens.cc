#include "vision/caption_tokens.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/text/prepared_text.h"
#include "data/text/token_vocabulary.h"
#include "data/text/wordpiece_config.h"
#include "seq2seq/typed_sentence.h"
#include "vision/captioner.pb.h"

namespace regard {

namespace {

Vocabulary WordsOf(const CaptionerConfig& config, const CaptionSplits& data) {
  if (!data.vocabulary.empty()) {
    return Vocabulary::Parse(data.vocabulary, "").value();
  }
  TokenCounts counts;
  counts.Add(CaptionTokens::SplitIntoWords(config.prompt()));
  for (const Caption& caption : data.train.captions) counts.Add(caption.words);
  return Vocabulary(counts);
}

TokenVocabularyResult PiecesOf(const CaptionerConfig& config,
                               const CaptionSplits& data) {
  const WordPieceOptions options = TokenOptions(config.tokens());
  if (!data.vocabulary.empty()) {
    return {WordPiece::Parse(data.vocabulary, "", options).value()};
  }
  std::string text = config.prompt();
  for (const Caption& caption : data.train.captions) {
    absl::StrAppend(&text, "\n", absl::StrJoin(caption.words, " "));
  }
  return ReadTokenVocabulary(config.tokens().vocabulary(), text, options,
                             config.tokens().min_frequency());
}

}  // namespace

CaptionTokens::CaptionTokens(const CaptionerConfig& config,
                             const CaptionSplits& data) {
  if (!config.has_tokens()) {
    words_ = WordsOf(config, data);
    ids_.count = words_.size();
    return;
  }
  TokenVocabularyResult vocabulary = PiecesOf(config, data);
  pieces_ = std::move(vocabulary.pieces);
  digest_ = std::move(vocabulary.digest);
  begin_ = config.begin();
  const int32_t begin = pieces_->Find(begin_);
  const int32_t pad = pieces_->Find(config.tokens().padding());
  ids_.special = {.begin = begin < 0 ? pieces_->size() : begin,
                  .end = pieces_->separator(),
                  .pad = std::max(pad, 0)};
  ids_.count =
      std::max({config.ids(), pieces_->size(), ids_.special.begin + 1});
  if (!vocabulary.problem.empty()) {
    problem_ = {"tokens.vocabulary", vocabulary.problem};
  } else if (pad < 0) {
    problem_ = {"tokens.padding", "must be a token of the vocabulary"};
  } else if (pad == pieces_->separator()) {
    // Targets that are padding are ignored, so the model would never learn to
    // end sentences.
    problem_ = {"tokens.padding",
                "must differ from the token that ends sentences"};
  }
}

void CaptionTokens::Validate(ConfigProblems& problems) const {
  if (problem_.has_value()) problems.Add(problem_->path, problem_->message);
}

const char* CaptionTokens::FileName(const CaptionerConfig& config) {
  return config.has_tokens() ? kVocabularyFile : "vocabulary.txt";
}

std::string CaptionTokens::ToText() const {
  return words() ? words_.ToText() : pieces_->ToText();
}

absl::Status CaptionTokens::Check(const CaptionerConfig& config,
                                  absl::string_view text,
                                  absl::string_view path) {
  if (!config.has_tokens()) return Vocabulary::Parse(text, path).status();
  return WordPiece::Parse(text, path, TokenOptions(config.tokens())).status();
}

std::vector<std::string> CaptionTokens::SplitIntoWords(absl::string_view text) {
  return PrepareWords(text, {.words = WordPreparation::kAsWritten});
}

bool CaptionTokens::IsKnownWord(absl::string_view word) const {
  if (words()) return words_.HasTextToken(word);
  const std::vector<int32_t> ids = pieces_->Tokenize(word);
  return std::ranges::count(ids, pieces_->unknown()) == 0;
}

std::vector<std::string> CaptionTokens::UnknownWordNotes(
    absl::Span<const std::string> words) const {
  std::vector<std::string> unknown;
  std::ranges::copy_if(
      words, std::back_inserter(unknown),
      [&](const std::string& word) { return !IsKnownWord(word); });
  const Vocabulary none;
  return UnknownWordReporter(none).UnknownWordNotes(unknown);
}

std::vector<int32_t> CaptionTokens::Encode(
    absl::Span<const std::string> words) const {
  return pieces_.has_value() ? pieces_->Tokenize(absl::StrJoin(words, " "))
                             : words_.Encode(words);
}

std::vector<std::string> CaptionTokens::Names(
    absl::Span<const std::string> words) const {
  if (!pieces_.has_value()) return {words.begin(), words.end()};
  std::vector<std::string> names;
  for (const int32_t id : Encode(words)) names.push_back(Name(id));
  return names;
}

std::string CaptionTokens::Name(int32_t id) const {
  if (words()) return words_.Token(id);
  if (id < pieces_->size()) return pieces_->Token(id);
  return id == ids_.special.begin ? begin_ : absl::StrCat("[", id, "]");
}

std::vector<std::string> CaptionTokens::Decode(
    absl::Span<const int32_t> ids, absl::Span<const std::string> prompt) const {
  if (words()) {
    std::vector<std::string> all = {prompt.begin(), prompt.end()};
    for (std::string& word : words_.Decode(ids)) all.push_back(std::move(word));
    return all;
  }
  std::vector<int32_t> all = Encode(prompt);
  std::ranges::copy_if(ids, std::back_inserter(all),
                       [&](int32_t id) { return id != ids_.special.begin; });
  return SplitIntoWords(pieces_->Decode(all));
}

std::vector<std::string> CaptionTokens::SpelledAsDecoded(
    absl::Span<const std::string> words) const {
  if (!pieces_.has_value()) return {words.begin(), words.end()};
  return SplitIntoWords(
      WordPiece::JoinWords(pieces_->SplitWords(absl::StrJoin(words, " "))));
}

}  // namespace regard
