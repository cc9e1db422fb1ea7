// Tokenizes sentences that a user types, and makes notes about unknown words
// and truncated sentences.
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

// Tokenizes a text like the corpus of the run (data/text/prepared_text.h). Line
// breaks count as spaces.
std::vector<std::string> TokenizeSource(absl::string_view text,
                                        const Translator& translator);
std::vector<std::string> TokenizeTarget(absl::string_view text,
                                        const Translator& translator);

// Lists the words that a vocabulary lacks, each once and at most 20 in total.
// The vocabulary must outlive this object.
class UnknownWordReporter {
 public:
  explicit UnknownWordReporter(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary) {}

  // Returns notes about unknown words in `words`. Omits words that an earlier
  // call listed.
  std::vector<std::string> UnknownWordNotes(
      absl::Span<const std::string> words);

 private:
  const Vocabulary& vocabulary_;
  absl::flat_hash_set<std::string> named_;
};

// Returns notes about one side of a pair. They say whether it is truncated, and
// list the unknown words among the words that the model reads.
std::vector<std::string> SourceNotes(absl::Span<const std::string> words,
                                     const Translator& translator);
std::vector<std::string> TargetNotes(absl::Span<const std::string> words,
                                     const Translator& translator);

}  // namespace regard

#endif  // SEQ2SEQ_TYPED_SENTENCE_H_
