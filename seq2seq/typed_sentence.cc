#include "seq2seq/typed_sentence.h"

#include <utility>

#include "absl/strings/str_replace.h"
#include "data/text/prepared_text.h"
#include "data/text/sentencepiece_model.h"
#include "files/printable_text.h"

namespace regard {

namespace {

void SplitElided(std::string word, const Vocabulary& vocabulary,
                 std::vector<std::string>* words) {
  while (!vocabulary.Contains(word)) {
    const size_t apostrophe = word.find('\'');
    if (apostrophe == std::string::npos || apostrophe + 1 == word.size()) break;
    std::string first = word.substr(0, apostrophe + 1);
    if (!vocabulary.Contains(first)) break;
    words->push_back(std::move(first));
    word.erase(0, apostrophe + 1);
  }
  words->push_back(std::move(word));
}

std::vector<std::string> TypedTokens(absl::string_view text,
                                     const SentencepieceModel* tokenizer,
                                     const Vocabulary& vocabulary) {
  return tokenizer == nullptr ? TypedWords(text, vocabulary)
                              : tokenizer->Tokenize(PrintableText(text));
}

}  // namespace

std::vector<std::string> TypedSource(absl::string_view text,
                                     const Translator& translator) {
  return TypedTokens(text, translator.tokenizers().source.get(),
                     translator.source_vocabulary());
}

std::vector<std::string> TypedTarget(absl::string_view text,
                                     const Translator& translator) {
  return TypedTokens(text, translator.tokenizers().target.get(),
                     translator.target_vocabulary());
}

std::vector<std::string> TypedWords(absl::string_view text,
                                    const Vocabulary& vocabulary) {
  std::vector<std::string> words;
  const std::string prepared =
      absl::StrReplaceAll(PrepareText(PrintableText(text)), {{"\u2019", "'"}});
  for (std::string& word : SplitTokens(prepared)) {
    SplitElided(std::move(word), vocabulary, &words);
  }
  return words;
}

}  // namespace regard
