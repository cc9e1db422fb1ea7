// What words bring to a decoder, computed once for each word of a search.
#ifndef SEQ2SEQ_KNOWN_WORDS_H_
#define SEQ2SEQ_KNOWN_WORDS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "nn/forward.h"
#include "seq2seq/seq2seq_model.h"

namespace regard {

// No gradient passes through it.
class KnownWords {
 public:
  using Embedded = Seq2SeqModel<float>::EmbeddedWords;

  // What becomes known is kept in scratch storage of the tape. The arguments
  // outlive this.
  KnownWords(const Seq2SeqModel<float>& model, Forward<float>& forward,
             int64_t vocabulary);

  // As model.Embed(forward, ids, {number of ids}).
  Embedded Embed(absl::Span<const int32_t> ids);

 private:
  struct Word {
    const float* embedding = nullptr;  // null: not known yet
    const float* projected = nullptr;
  };

  void Learn(absl::Span<const int32_t> ids);

  const Seq2SeqModel<float>& model_;
  Forward<float>& forward_;
  absl::Span<Word> words_;  // [vocabulary]
  int64_t embedding_width_ = 0;
  int64_t gates_width_ = 0;
};

}  // namespace regard

#endif  // SEQ2SEQ_KNOWN_WORDS_H_
