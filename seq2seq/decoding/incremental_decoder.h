// A decoder that reads ids step by step, with a cache of what it has read.
#ifndef SEQ2SEQ_DECODING_INCREMENTAL_DECODER_H_
#define SEQ2SEQ_DECODING_INCREMENTAL_DECODER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/probe.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/decoding/search.h"

namespace regard {

// In a step of the member's Forward that has just begun. The cache is in the
// scratch arena of the tape, which records nothing during the lifetime of this.
class IncrementalDecoder : private Probe<float> {
 public:
  // The memory, if the member encodes one, has `sources` sources; there are at
  // most `max_rows` rows.
  IncrementalDecoder(const EnsembleMember& member, int64_t sources,
                     int64_t max_rows);
  ~IncrementalDecoder() override;

  IncrementalDecoder(const IncrementalDecoder&) = delete;
  IncrementalDecoder& operator=(const IncrementalDecoder&) = delete;

  // Reads ids [rows, n]. Returns the logits after the last, [rows, vocabulary].
  Var<float> Advance(absl::Span<const int32_t> ids, bool want_alignment);

  // Reads the first ids of further sources, [sources, n], in the step that
  // Advance() began, after which each row has read n, too. Their rows, one
  // each, come behind the others. Without a memory.
  Var<float> Join(absl::Span<const int32_t> ids, int64_t sources);

  // Ends a step: row i of the next one continues row rows[i].
  void Keep(absl::Span<const int32_t> rows, int64_t rows_per_source);

  // Ids that each row has read.
  int64_t position() const { return state_->position(); }
  // Valid positions of the memories of the last step's sources; empty: all.
  absl::Span<const int32_t> lengths() const { return state_->lengths(); }
  // The last step's, [sources, rows or positions, time]; empty if it was not
  // wanted, or the decoder does not attend.
  Var<float> alignment() const { return alignment_; }

 private:
  Var<float> Read(absl::Span<const int32_t> ids, DecoderState<float>* state);

  // Reads the weights that are the alignment.
  SiteWish Wish(const std::string& site) override;
  void OnValue(const std::string& site, Var<float> weights) override;

  const Decoder<float>& decoder_;
  Forward<float>& forward_;
  const bool recording_;
  std::optional<ScratchScope<float>> scratch_;
  std::optional<DecoderCache<float>> cache_;
  std::optional<DecoderState<float>> state_;
  const std::vector<std::string> alignment_sites_;
  Var<float> alignment_;
  Tape<float>::Mark mark_;
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_INCREMENTAL_DECODER_H_
