#include "language/generator.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "autodiff/arena.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "seq2seq/decoding/incremental_decoder.h"
#include "seq2seq/decoding/sampler.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/memory.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

bool Generate(const LanguageModel& model, Forward<float>& forward,
              absl::Span<const int32_t> prompt,
              const GenerationOptions& options,
              absl::FunctionRef<bool(int32_t id)> emit) {
  REGARD_CHECK(!prompt.empty()) << "an empty prompt";
  const TransformerDecoder<float>& decoder = model.decoder();
  const SpecialIds special = decoder.head().special_ids();
  const auto block = static_cast<size_t>(model.block());
  const size_t half = std::max<size_t>(1, block / 2);
  const EnsembleMember member = {&decoder, &forward, [](Forward<float>&) {
                                   return Memory<float>{.sources = 1};
                                 }};
  Arena arena;
  Sampler sampler(options.sampling, decoder.head().vocabulary(), arena);
  const RandomStream random(options.sampling.seed(), "sampling");
  uint64_t key = kHashSeed;
  for (const int32_t id : prompt) key = Hash(static_cast<uint64_t>(id), key);

  std::vector<int32_t> text(prompt.begin(), prompt.end());
  std::optional<IncrementalDecoder> reader;
  size_t begin = 0;  // the reader reads the text from here on
  size_t unread = 0;
  for (int64_t step = 0; step < options.length; ++step) {
    if (!reader.has_value() || text.size() - begin > block) {
      if (text.size() - begin > block) begin = text.size() - half;
      reader.reset();
      reader.emplace(member, /*sources=*/1, /*max_rows=*/1);
      unread = text.size() - begin;
    }
    const Var<float> logits = reader->Advance(
        absl::MakeConstSpan(text).last(unread), /*want_alignment=*/false);
    const int32_t id =
        sampler.Draw(logits.data(), {special.begin},
                     random.UniformAt(Hash(static_cast<uint64_t>(step), key)));
    reader->Keep({0}, /*rows_per_source=*/1);
    // Without <eos>, no id is that of the end.
    if (id >= 0 && id == special.end) return true;
    if (id < 0 || !emit(id)) return false;
    text.push_back(id);
    unread = 1;
  }
  return false;
}

}  // namespace regard
