#include "language/generator.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "autodiff/arena.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/decoding/sampler.h"
#include "seq2seq/memory.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// The part of a text that the decoder has read. What outlives a call is in the
// tape's scratch arena, so that the tape can be rewound.
class Context {
 public:
  Context(const Decoder<float>& decoder, Forward<float>& forward)
      : decoder_(decoder), forward_(forward), scratch_(forward.tape()) {
    Tape<float>& tape = forward_.tape();
    const Tape<float>::Mark mark = tape.Save();
    Memory<float> nothing;
    nothing.sources = 1;
    using Limits = DecoderCache<float>::Limits;
    cache_.emplace(decoder_.Begin(forward_, nothing),
                   Limits{/*rows=*/1, decoder_.head().vocabulary(),
                          decoder_.longest_position()},
                   tape.scratch());
    tape.Rewind(mark);
  }

  // Reads `ids`, at once. Sets `logits` to those of the id after them.
  void Read(absl::Span<const int32_t> ids, std::vector<float>* logits) {
    Tape<float>& tape = forward_.tape();
    const Tape<float>::Mark mark = tape.Save();
    DecoderState<float> state = cache_->View(tape);
    Var<float> last =
        decoder_.Advance(forward_, ids, AdvanceOptions(), &state).readout;
    last = Slice(last, /*axis=*/1, last.dim(1) - 1, 1);
    const Var<float> row =
        decoder_.head().Logits(forward_, last.WithShape({1, last.cols()}));
    logits->assign(row.data(), row.data() + row.size());
    static constexpr int32_t kOnlyRow[] = {0};
    cache_->Gather(state, kOnlyRow, /*rows_per_source=*/1);
    tape.Rewind(mark);
    position_ += static_cast<int64_t>(ids.size());
  }

  int64_t position() const { return position_; }

 private:
  const Decoder<float>& decoder_;
  Forward<float>& forward_;
  ScratchScope<float> scratch_;
  std::optional<DecoderCache<float>> cache_;
  int64_t position_ = 0;
};

}  // namespace

bool Generate(const LanguageModel<float>& model, Forward<float>& forward,
              absl::Span<const int32_t> prompt,
              const GenerationOptions& options,
              absl::FunctionRef<bool(int32_t id)> emit) {
  REGARD_CHECK(!prompt.empty()) << "an empty prompt";
  const TransformerDecoder<float>& decoder = model.decoder();
  const SpecialIds special = decoder.head().special_ids();
  const auto half =
      static_cast<size_t>(std::max<int64_t>(1, model.block() / 2));
  Tape<float>& tape = forward.tape();
  const bool recording = tape.recording();
  tape.set_recording(false);
  forward.BeginStep();

  Arena arena;
  Sampler sampler(options.sampling, decoder.head().vocabulary(), arena);
  const RandomStream random(options.sampling.seed(), "sampling");
  uint64_t key = kHashSeed;
  for (const int32_t id : prompt) key = Hash(static_cast<uint64_t>(id), key);

  std::vector<int32_t> text(prompt.begin(), prompt.end());
  std::vector<float> logits;
  std::optional<Context> context;
  context.emplace(decoder, forward);
  size_t unread = text.size();
  bool ended = false;
  for (int64_t step = 0; step < options.length; ++step) {
    if (context->position() + static_cast<int64_t>(unread) > model.block()) {
      context.reset();
      context.emplace(decoder, forward);
      unread = std::min(half, text.size());
    }
    context->Read(absl::MakeConstSpan(text).last(unread), &logits);
    const int32_t id =
        sampler.Draw(logits.data(), {special.begin},
                     random.UniformAt(Hash(static_cast<uint64_t>(step), key)));
    // Without <eos>, no id is that of the end.
    ended = id >= 0 && id == special.end;
    if (id < 0 || ended || !emit(id)) break;
    text.push_back(id);
    unread = 1;
  }
  context.reset();
  tape.set_recording(recording);
  return ended;
}

}  // namespace regard
