#include "seq2seq/typed_sentence.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "data/text/prepared_text.h"
#include "data/text/sentencepiece_model.h"
#include "files/printable_text.h"

namespace regard {

namespace {

constexpr size_t kMaxUnknown = 20;
constexpr int kWordWidth = 60;  // columns of a word in a note

std::vector<std::string> TypedTokens(absl::string_view text,
                                     const SentencepieceModel* tokenizer,
                                     const TextRules& rules,
                                     const Vocabulary& vocabulary) {
  // Sentences of a corpus contain no line breaks.
  const std::string line = absl::StrReplaceAll(text, {{"\n", " "}});
  return tokenizer == nullptr ? PrepareWords(line, rules, &vocabulary)
                              : tokenizer->Tokenize(line);
}

// `ids` is the number of ids that the model reads. It includes <eos> unless
// <eos> is truncated.
std::vector<std::string> SideNotes(absl::string_view side,
                                   absl::Span<const std::string> words,
                                   size_t ids, const Vocabulary& vocabulary) {
  const size_t read = std::min(words.size(), ids);
  std::vector<std::string> notes =
      UnknownWordReporter(vocabulary).UnknownWordNotes(words.first(read));
  if (read < words.size()) {
    notes.insert(notes.begin(),
                 absl::StrCat("the ", side, " is cut: only ", read, " of ",
                              words.size(), " tokens are read"));
  }
  return notes;
}

}  // namespace

std::vector<std::string> TokenizeSource(absl::string_view text,
                                        const Translator& translator) {
  const Tokenizers& tokenizers = translator.tokenizers();
  return TypedTokens(text, tokenizers.source.get(), tokenizers.rules,
                     translator.source_vocabulary());
}

std::vector<std::string> TokenizeTarget(absl::string_view text,
                                        const Translator& translator) {
  const Tokenizers& tokenizers = translator.tokenizers();
  return TypedTokens(text, tokenizers.target.get(), tokenizers.rules,
                     translator.target_vocabulary());
}

std::vector<std::string> UnknownWordReporter::UnknownWordNotes(
    absl::Span<const std::string> words) {
  std::vector<std::string> notes;
  for (const std::string& word : words) {
    if (named_.size() > kMaxUnknown) break;
    if (vocabulary_.HasTextToken(word) || word == "<unk>" ||
        !named_.insert(word).second) {
      continue;
    }
    notes.push_back(
        named_.size() > kMaxUnknown
            ? "further unknown words are not listed"
            : absl::StrCat("the model does not know '",
                           CutToWidth(PrintableText(word), kWordWidth, "~"),
                           "'"));
  }
  return notes;
}

std::vector<std::string> SourceNotes(absl::Span<const std::string> words,
                                     const Translator& translator) {
  return SideNotes("source", words, translator.EncodeSource(words).size(),
                   translator.source_vocabulary());
}

std::vector<std::string> TargetNotes(absl::Span<const std::string> words,
                                     const Translator& translator) {
  return SideNotes("target", words, translator.EncodeTarget(words).size(),
                   translator.target_vocabulary());
}

}  // namespace regard
