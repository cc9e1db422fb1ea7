// A decoder that reads ids step by step, with a cache of its state.
#ifndef SEQ2SEQ_DECODING_INCREMENTAL_DECODER_H_
#define SEQ2SEQ_DECODING_INCREMENTAL_DECODER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/scoped_hook.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/decoding/search.h"

namespace regard {

// Runs the decoder of one ensemble member. The member's Forward must have just
// begun a step. The cache is in the scratch arena of the tape. The tape does
// not record during the lifetime of this object.
class IncrementalDecoder : private Hook<float> {
 public:
  // `sources` is the number of sources, which must match the memory if the
  // member has one. `max_rows` is the maximum number of rows. alignment() is
  // set only with `want_alignment`.
  IncrementalDecoder(const EnsembleMember& member, int64_t sources,
                     int64_t max_rows, bool want_alignment);
  ~IncrementalDecoder() override;

  IncrementalDecoder(const IncrementalDecoder&) = delete;
  IncrementalDecoder& operator=(const IncrementalDecoder&) = delete;

  // Reads ids [rows, n]. Returns the logits after the last id of each row,
  // [rows, vocabulary].
  Var<float> Advance(absl::Span<const int32_t> ids);

  // Reads the first ids of further sources, [sources, n], in the step of the
  // last Advance(). n must be the number of ids that each row has read. The new
  // rows, one per source, follow the existing rows. Requires a member without a
  // memory.
  Var<float> AddSources(absl::Span<const int32_t> ids, int64_t sources);

  // Ends a step: row i of the next step continues row rows[i].
  void EndStepWithRows(absl::Span<const int32_t> rows, int64_t rows_per_source);

  // The number of ids that each row has read.
  int64_t position() const { return state_->position(); }
  // The number of valid positions of each memory in the last step. Empty if all
  // positions are valid.
  absl::Span<const int32_t> lengths() const { return state_->lengths(); }
  // The alignment of the last step, [sources, rows or positions, time]. Empty
  // if it was not requested, or if the decoder has no attention to a memory.
  Var<float> alignment() const { return alignment_; }

 private:
  Var<float> Read(absl::Span<const int32_t> ids, DecoderState<float>* state);

  // Hooks the weights that serve as the alignment.
  HookRequest Request(const std::string& site) override;
  void OnValue(const std::string& site, Var<float> weights) override;

  const Decoder<float>& decoder_;
  Forward<float>& forward_;
  const bool recording_;
  std::optional<ScratchScope<float>> scratch_;
  std::optional<DecoderStateStore<float>> cache_;
  std::optional<DecoderState<float>> state_;
  const std::vector<std::string> alignment_sites_;
  // The hook of this object, already active while the constructor encodes the
  // memory. Empty without `want_alignment`.
  std::optional<ScopedExtraHook<float>> watch_;
  Var<float> alignment_;
  Tape<float>::Mark mark_;
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_INCREMENTAL_DECODER_H_
