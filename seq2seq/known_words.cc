#include "seq2seq/known_words.h"

#include <algorithm>

#include "autodiff/arena.h"
#include "autodiff/tape.h"

namespace regard {

KnownWords::KnownWords(const Seq2SeqModel<float>& model,
                       Forward<float>& forward, int64_t vocabulary)
    : model_(model),
      forward_(forward),
      words_(forward.tape().scratch().New<Word>(vocabulary),
             static_cast<size_t>(vocabulary)) {
  std::fill(words_.begin(), words_.end(), Word());
}

// Computes what is not known yet; `ids` may repeat.
void KnownWords::Learn(absl::Span<const int32_t> ids) {
  Arena& scratch = forward_.tape().scratch();
  auto* const unknown = scratch.New<int32_t>(static_cast<int64_t>(ids.size()));
  int64_t count = 0;
  // Stands for what is about to be known.
  static constexpr float kSoon = 0;
  for (const int32_t id : ids) {
    Word& word = words_[static_cast<size_t>(id)];
    if (word.embedding != nullptr) continue;
    word.embedding = &kSoon;
    unknown[count++] = id;
  }
  if (count == 0) return;
  const Embedded made =
      model_.Embed(forward_, {unknown, static_cast<size_t>(count)}, {count});
  embedding_width_ = made.embedding.cols();
  gates_width_ = made.projected.cols();
  auto* const embeddings = scratch.New<float>(made.embedding.size());
  auto* const projected = scratch.New<float>(made.projected.size());
  std::copy_n(made.embedding.data(), made.embedding.size(), embeddings);
  std::copy_n(made.projected.data(), made.projected.size(), projected);
  for (int64_t i = 0; i < count; ++i) {
    words_[static_cast<size_t>(unknown[i])] = {
        embeddings + i * embedding_width_, projected + i * gates_width_};
  }
}

KnownWords::Embedded KnownWords::Embed(absl::Span<const int32_t> ids) {
  Learn(ids);
  Tape<float>& tape = forward_.tape();
  const auto rows = static_cast<int64_t>(ids.size());
  const Embedded out = {tape.Constant({rows, embedding_width_}),
                        tape.Constant({rows, gates_width_})};
  float* embedding = out.embedding.data();
  float* projected = out.projected.data();
  for (const int32_t id : ids) {
    const Word& word = words_[static_cast<size_t>(id)];
    embedding = std::copy_n(word.embedding, embedding_width_, embedding);
    projected = std::copy_n(word.projected, gates_width_, projected);
  }
  return out;
}

}  // namespace regard
