// The tokens of a sentence that a user typed.
#ifndef SEQ2SEQ_TYPED_SENTENCE_H_
#define SEQ2SEQ_TYPED_SENTENCE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
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

}  // namespace regard

#endif  // SEQ2SEQ_TYPED_SENTENCE_H_
