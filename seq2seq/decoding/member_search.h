// The part of a search that one decoder takes.
#ifndef SEQ2SEQ_DECODING_MEMBER_SEARCH_H_
#define SEQ2SEQ_DECODING_MEMBER_SEARCH_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/decoding/search.h"

namespace regard {

// What a decoder has kept of each row. Lives in the scratch arena of its tape,
// which records nothing meanwhile.
class MemberSearch {
 public:
  // Of as many `sources` and at most `max_rows` rows.
  MemberSearch(const SearchMember& member, int64_t sources, int64_t max_rows);
  ~MemberSearch();

  MemberSearch(const MemberSearch&) = delete;
  MemberSearch& operator=(const MemberSearch&) = delete;

  // Reads ids [rows, n]. Returns the logits after the last, [rows, vocabulary].
  Var<float> Advance(absl::Span<const int32_t> ids, bool want_maps);

  // Ends a step: its rows `rows` live on.
  void Keep(absl::Span<const int32_t> rows, int64_t rows_per_source);

  Tape<float>& tape() const { return forward_.tape(); }
  // Valid positions of the memories of the last step's sources; empty: all.
  absl::Span<const int32_t> lengths() const { return state_->lengths(); }
  // Of the last step, [sources, rows or positions, time]; may be empty.
  Var<float> alignment() const { return alignment_; }

 private:
  const Decoder<float>& decoder_;
  Forward<float>& forward_;
  const bool recording_;
  std::optional<ScratchScope<float>> scratch_;
  std::optional<DecoderCache<float>> cache_;
  std::optional<DecoderState<float>> state_;
  Var<float> alignment_;
  Tape<float>::Mark mark_;
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_MEMBER_SEARCH_H_
