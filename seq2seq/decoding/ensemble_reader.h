// Members of an ensemble, or one model, that read the same ids step by step.
#ifndef SEQ2SEQ_DECODING_ENSEMBLE_READER_H_
#define SEQ2SEQ_DECODING_ENSEMBLE_READER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "seq2seq/decoding/incremental_decoder.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {

// A step is Begin() or Advance(), then Join() if sources are added, then
// Keep(). What the first three return has a row for each row that read: its
// logits or, of several members, the logarithms of their mean. It may be
// written to, and is valid until Keep().
class EnsembleReader {
 public:
  // `members`, of one vocabulary, outlive this. The alignment is the first
  // one's. Begins a step of each member's Forward.
  EnsembleReader(absl::Span<const EnsembleMember> members,
                 SearchConfig::EnsembleMean mean, bool want_alignment);

  // Forgets what was read, in new steps if anything was. Reads the first ids of
  // sources, [sources, n], of which there will be `max_rows` rows at most.
  Var<float> Begin(absl::Span<const int32_t> ids, int64_t sources,
                   int64_t max_rows);
  // Reads the next id of each row.
  Var<float> Advance(absl::Span<const int32_t> ids);
  // IncrementalDecoder::Join().
  Var<float> Join(absl::Span<const int32_t> ids, int64_t sources);
  // IncrementalDecoder::Keep().
  void Keep(absl::Span<const int32_t> rows, int64_t rows_per_source);

  // What follows is of the first member; IncrementalDecoder says more.
  int64_t position() const { return readers_[0]->position(); }
  absl::Span<const int32_t> lengths() const { return readers_[0]->lengths(); }
  Var<float> alignment() const { return readers_[0]->alignment(); }

 private:
  // read(member) returns its logits.
  Var<float> MeanOf(absl::FunctionRef<Var<float>(size_t member)> read) const;

  const absl::Span<const EnsembleMember> members_;
  const SearchConfig::EnsembleMean mean_;
  const bool want_alignment_;
  std::vector<std::unique_ptr<IncrementalDecoder>> readers_;
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_ENSEMBLE_READER_H_
