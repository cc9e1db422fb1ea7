// The tokens of a sentence that a user typed, and notes on them.
#ifndef SEQ2SEQ_TYPED_SENTENCE_H_
#define SEQ2SEQ_TYPED_SENTENCE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/text/vocabulary.h"
#include "seq2seq/translator.h"

namespace regard {

// Those of the tokenizer, else TypedWords().
std::vector<std::string> TypedSource(absl::string_view text,
                                     const Translator& translator);
std::vector<std::string> TypedTarget(absl::string_view text,
                                     const Translator& translator);

// The words of a typed sentence: prepared as a corpus is, without
// control characters, U+FFFD for bytes that are not UTF-8. A word that the
// vocabulary lacks is parted behind an apostrophe where it knows the first
// part, as French elides: `j'aime` becomes `j' aime`.
std::vector<std::string> TypedWords(absl::string_view text,
                                    const Vocabulary& vocabulary);

// Names the words that a vocabulary, which outlives it, lacks: each once, and
// 20 at most.
class UnknownWords {
 public:
  explicit UnknownWords(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary) {}

  // Of what no earlier call named.
  std::vector<std::string> NotesOn(absl::Span<const std::string> words);

 private:
  const Vocabulary& vocabulary_;
  absl::flat_hash_set<std::string> named_;
};

// Whether a side of a pair is cut, and the unknown words of what is read.
std::vector<std::string> SourceNotes(absl::Span<const std::string> words,
                                     const Translator& translator);
std::vector<std::string> TargetNotes(absl::Span<const std::string> words,
                                     const Translator& translator);

}  // namespace regard

#endif  // SEQ2SEQ_TYPED_SENTENCE_H_
