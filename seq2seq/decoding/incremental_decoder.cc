#include "seq2seq/decoding/incremental_decoder.h"

#include "autodiff/ops/shape_ops.h"
#include "seq2seq/memory.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

IncrementalDecoder::IncrementalDecoder(const EnsembleMember& member,
                                       int64_t sources, int64_t max_rows)
    : decoder_(*member.decoder),
      forward_(*member.forward),
      recording_(forward_.tape().recording()) {
  Tape<float>& tape = forward_.tape();
  tape.set_recording(false);
  forward_.BeginStep();
  scratch_.emplace(tape);
  const Tape<float>::Mark mark = tape.Save();
  const Memory<float> memory = member.encode(forward_);
  REGARD_CHECK_EQ(memory.sources, sources) << "sources of a memory";
  using Limits = DecoderCache<float>::Limits;
  cache_.emplace(decoder_.Begin(forward_, memory),
                 Limits{max_rows, decoder_.head().vocabulary(),
                        decoder_.longest_position()},
                 tape.scratch());
  tape.Rewind(mark);
}

IncrementalDecoder::~IncrementalDecoder() {
  forward_.tape().set_recording(recording_);
}

Var<float> IncrementalDecoder::Advance(absl::Span<const int32_t> ids,
                                       bool want_maps) {
  Tape<float>& tape = forward_.tape();
  mark_ = tape.Save();
  state_.emplace(cache_->View(tape));
  const DecoderOutput<float> output =
      decoder_.Advance(forward_, ids, {.want_maps = want_maps}, &*state_);
  alignment_ = want_maps ? MemoryAlignment(output.maps, decoder_.alignment())
                         : Var<float>();
  Var<float> last = output.readout;
  if (last.dim(1) > 1) last = Slice(last, /*axis=*/1, last.dim(1) - 1, 1);
  return decoder_.head().Logits(forward_,
                                last.WithShape({last.dim(0), last.cols()}));
}

void IncrementalDecoder::Keep(absl::Span<const int32_t> rows,
                              int64_t rows_per_source) {
  if (!rows.empty()) cache_->Gather(*state_, rows, rows_per_source);
  forward_.tape().Rewind(mark_);
}

}  // namespace regard
