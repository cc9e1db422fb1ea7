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

// Prepared as the corpus of the run was (data/text/prepared_text.h).
std::vector<std::string> TypedSource(absl::string_view text,
                                     const Translator& translator);
std::vector<std::string> TypedTarget(absl::string_view text,
                                     const Translator& translator);

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
