#include "seq2seq/decoding/incremental_decoder.h"

#include "attention/inspection/attention_maps.h"
#include "autodiff/ops/shape_ops.h"
#include "seq2seq/memory.h"
#include "seq2seq/memory_alignment.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

IncrementalDecoder::IncrementalDecoder(const EnsembleMember& member,
                                       int64_t sources, int64_t max_rows,
                                       bool want_alignment)
    : decoder_(*member.decoder),
      forward_(*member.forward),
      recording_(forward_.tape().recording()),
      alignment_sites_(AlignmentSites(decoder_.alignment())) {
  Tape<float>& tape = forward_.tape();
  tape.set_recording(false);
  scratch_.emplace(tape);
  Hook<float>* const reader = this;
  if (want_alignment) watch_.emplace(forward_, reader);
  const Tape<float>::Mark mark = tape.Save();
  const Memory<float> memory = member.encode != nullptr
                                   ? member.encode(forward_)
                                   : Memory<float>{.sources = sources};
  REGARD_CHECK_EQ(memory.sources, sources) << "sources of a memory";
  using Limits = DecoderStateStore<float>::Limits;
  cache_.emplace(decoder_.Begin(forward_, memory),
                 Limits{max_rows, decoder_.head().vocabulary(),
                        decoder_.longest_position()},
                 tape.scratch());
  tape.Rewind(mark);
}

IncrementalDecoder::~IncrementalDecoder() {
  forward_.tape().set_recording(recording_);
}

Var<float> IncrementalDecoder::Advance(absl::Span<const int32_t> ids) {
  Tape<float>& tape = forward_.tape();
  mark_ = tape.Save();
  state_.emplace(cache_->View(tape));
  alignment_ = {};
  return Read(ids, &*state_);
}

Var<float> IncrementalDecoder::AddSources(absl::Span<const int32_t> ids,
                                          int64_t sources) {
  DecoderState<float> state = decoder_.Begin(forward_, {.sources = sources});
  const Var<float> logits = Read(ids, &state);
  REGARD_CHECK_EQ(state.position(), position()) << "ids of further sources";
  cache_->AddRows(state);
  return logits;
}

Var<float> IncrementalDecoder::Read(absl::Span<const int32_t> ids,
                                    DecoderState<float>* state) {
  Var<float> last = decoder_.Advance(forward_, ids, /*lengths=*/{}, state);
  if (last.dim(1) > 1) last = Slice(last, /*axis=*/1, last.dim(1) - 1, 1);
  return decoder_.head().Logits(forward_,
                                last.Reshape({last.dim(0), last.cols()}));
}

HookRequest IncrementalDecoder::Request(const std::string& site) {
  return {.value = MatchesSite(alignment_sites_, site)};
}

void IncrementalDecoder::OnValue(const std::string& /*site*/,
                                 Var<float> weights) {
  const Shape& shape = weights.shape();
  alignment_ = forward_.tape().Constant({shape[0], shape[2], shape[3]});
  CopyHead(shape, weights.data(), decoder_.alignment().head, alignment_.data());
}

void IncrementalDecoder::EndStepWithRows(absl::Span<const int32_t> rows,
                                         int64_t rows_per_source) {
  if (!rows.empty()) cache_->Gather(*state_, rows, rows_per_source);
  forward_.tape().Rewind(mark_);
}

}  // namespace regard
