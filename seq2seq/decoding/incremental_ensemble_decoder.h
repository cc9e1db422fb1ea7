// Reads the same ids, step by step, with all members of an ensemble or with one
// model.
#ifndef SEQ2SEQ_DECODING_INCREMENTAL_ENSEMBLE_DECODER_H_
#define SEQ2SEQ_DECODING_INCREMENTAL_ENSEMBLE_DECODER_H_

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

// Reads ids with all members of an ensemble.
//
// A step is Begin() or Advance(), then AddSources() if sources are added, then
// EndStepWithRows(). Begin(), Advance() and AddSources() return one row of
// scores for each row that was read. If there is one member, the scores are its
// logits. Otherwise, they are log-probabilities, averaged over the members (see
// ensemble_mean). The caller may overwrite the scores, which are valid until
// EndStepWithRows().
class IncrementalEnsembleDecoder {
 public:
  // `members` share a vocabulary and must outlive this object. The first member
  // gives the alignment. Begins a step of each member's Forward.
  IncrementalEnsembleDecoder(absl::Span<const EnsembleMember> members,
                             SearchConfig::EnsembleMean mean,
                             bool want_alignment);

  // Drops everything that was read before, and reads the first ids of the
  // sources, [sources, n]. Later steps may have at most `max_rows` rows. Each
  // further call begins a new step of each member's Forward.
  Var<float> Begin(absl::Span<const int32_t> ids, int64_t sources,
                   int64_t max_rows);
  // Reads the next id of each row.
  Var<float> Advance(absl::Span<const int32_t> ids);
  // Calls IncrementalDecoder::AddSources() of each member.
  Var<float> AddSources(absl::Span<const int32_t> ids, int64_t sources);
  // Calls IncrementalDecoder::EndStepWithRows() of each member.
  void EndStepWithRows(absl::Span<const int32_t> rows, int64_t rows_per_source);

  // These functions return the values of the first member; see
  // IncrementalDecoder.
  int64_t position() const { return readers_[0]->position(); }
  absl::Span<const int32_t> lengths() const { return readers_[0]->lengths(); }
  Var<float> alignment() const { return readers_[0]->alignment(); }

 private:
  // Combines the members' logits, which read(member) returns.
  Var<float> AverageMemberScores(
      absl::FunctionRef<Var<float>(size_t member)> read) const;

  const absl::Span<const EnsembleMember> members_;
  const SearchConfig::EnsembleMean mean_;
  const bool want_alignment_;
  std::vector<std::unique_ptr<IncrementalDecoder>> readers_;
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_INCREMENTAL_ENSEMBLE_DECODER_H_
