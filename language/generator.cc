#include "language/generator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "language/text_vocabulary.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

using Prompts = absl::Span<const std::vector<int32_t>>;

// Limits on the prompts that are continued together. They are large enough for
// fast matrix products, and small enough to bound the memory of keys and
// values. GPT-2 small takes 0.6 GB for 8192 positions.
constexpr int64_t kMaxPrompts = 64;
constexpr int64_t kMaxPositions = 8192;

// Returns the number of prompts in the next batch. The batch begins with the
// first prompt. `prompts` must not be empty.
size_t BatchSize(Prompts prompts, int64_t block,
                 const GenerationOptions& options) {
  const SearchConfig& search = options.search;
  const int64_t rows = search.has_sampling() ? search.n_best() : search.beam();
  int64_t longest = 0;
  int64_t count = 0;
  while (count < std::min(std::ssize(prompts), kMaxPrompts)) {
    const int64_t read = std::ssize(prompts[static_cast<size_t>(count)]);
    // Limits `length` before the addition, which could overflow.
    longest = std::max(longest,
                       std::min(block, read + std::min(options.length, block)));
    if (count > 0 && (count + 1) * rows * longest > kMaxPositions) break;
    ++count;
  }
  return static_cast<size_t>(count);
}

// Returns whether the last of `ids` completes a stop string. `before` is the id
// that precedes `ids`. Reads only as many ids from the end as a stop string can
// span.
bool Completes(const TextVocabulary& vocabulary, int32_t before,
               absl::Span<const std::string> stops, IdsFromLast ids) {
  size_t longest = 0;
  for (const std::string& stop : stops) {
    longest = std::max(longest, stop.size());
  }
  std::vector<int32_t> tail;  // in reverse order
  size_t bytes = 0;           // text bytes between the first and the last id
  bool enough = false;
  ids([&](int32_t id) {
    if (tail.size() > 1) bytes += vocabulary.Piece(id, tail.back()).size();
    tail.push_back(id);
    enough = bytes + 1 >= longest && tail.size() > 1;
    return !enough;
  });
  if (enough) {
    before = tail.back();
    tail.pop_back();
  }
  IncrementalTextDecoder text(vocabulary, before, stops);
  std::for_each(tail.rbegin(), tail.rend(),
                [&](int32_t id) { text.Append(id); });
  return text.stopped();
}

}  // namespace

std::vector<std::vector<Hypothesis>> Generate(const LanguageModel& model,
                                              Forward<float>& forward,
                                              Prompts prompts,
                                              const GenerationOptions& options,
                                              const OnGenerated& on_id) {
  for (const std::vector<int32_t>& prompt : prompts) {
    REGARD_CHECK(!prompt.empty()) << "an empty prompt";
  }
  std::vector<std::vector<Hypothesis>> texts;
  if (options.length == 0) {
    texts.assign(prompts.size(), std::vector<Hypothesis>(1));
    return texts;
  }
  const EnsembleMember member = {&model.decoder(), &forward};
  while (texts.size() < prompts.size()) {
    const size_t first = texts.size();
    const Prompts batch = prompts.subspan(
        first, BatchSize(prompts.subspan(first), model.block(), options));
    std::vector<SourceSearchInputs> sources;
    for (const std::vector<int32_t>& prompt : batch) {
      sources.push_back({options.length, KeyOf(prompt), prompt});
    }
    SearchInputs inputs = {.members = absl::MakeConstSpan(&member, 1),
                           .sources = sources,
                           .want_weights = false,
                           .window = model.block(),
                           .cut = true};
    if (on_id != nullptr) {
      inputs.on_choice = [&](size_t source, int32_t id) {
        return on_id(first + source, id);
      };
    }
    if (!options.stops.empty()) {
      inputs.completes = [&](size_t source, IdsFromLast ids) {
        return Completes(model.vocabulary(), batch[source].back(),
                         options.stops, ids);
      };
    }
    for (auto& found : Search(inputs, options.search)) {
      texts.push_back(std::move(found));
    }
  }
  return texts;
}

}  // namespace regard
