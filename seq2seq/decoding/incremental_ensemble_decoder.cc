#include "seq2seq/decoding/incremental_ensemble_decoder.h"

#include <cmath>
#include <cstddef>

#include "autodiff/ops/softmax.h"
#include "seq2seq/decoding/continuations.h"

namespace regard {

IncrementalEnsembleDecoder::IncrementalEnsembleDecoder(
    absl::Span<const EnsembleMember> members, SearchConfig::EnsembleMean mean,
    bool want_alignment)
    : members_(members), mean_(mean), want_alignment_(want_alignment) {
  for (const EnsembleMember& member : members_) member.forward->BeginStep();
}

Var<float> IncrementalEnsembleDecoder::AverageMemberScores(
    absl::FunctionRef<Var<float>(size_t member)> read) const {
  Var<float> sum = read(0);
  if (members_.size() == 1) return sum;
  sum = LogSoftmax(sum);
  const bool probabilities = mean_ == SearchConfig::PROBABILITIES;
  for (size_t m = 1; m < members_.size(); ++m) {
    const Var<float> next = LogSoftmax(read(m));
    if (probabilities) {
      AddProbabilities(next.span(), sum.span());
    } else {
      for (int64_t i = 0; i < sum.size(); ++i) sum.data()[i] += next.data()[i];
    }
  }
  const auto count = static_cast<float>(members_.size());
  const float log_count = std::log(count);
  for (float& mean : sum.span()) {
    mean = probabilities ? mean - log_count : mean / count;
  }
  return sum;
}

Var<float> IncrementalEnsembleDecoder::Begin(absl::Span<const int32_t> ids,
                                             int64_t sources,
                                             int64_t max_rows) {
  const bool again = !readers_.empty();
  readers_.clear();
  for (const EnsembleMember& member : members_) {
    if (again) member.forward->BeginStep();
    readers_.push_back(std::make_unique<IncrementalDecoder>(
        member, sources, max_rows, want_alignment_ && readers_.empty()));
  }
  return Advance(ids);
}

Var<float> IncrementalEnsembleDecoder::Advance(absl::Span<const int32_t> ids) {
  return AverageMemberScores(
      [&](size_t m) { return readers_[m]->Advance(ids); });
}

Var<float> IncrementalEnsembleDecoder::AddSources(absl::Span<const int32_t> ids,
                                                  int64_t sources) {
  return AverageMemberScores(
      [&](size_t m) { return readers_[m]->AddSources(ids, sources); });
}

void IncrementalEnsembleDecoder::EndStepWithRows(absl::Span<const int32_t> rows,
                                                 int64_t rows_per_source) {
  for (const auto& reader : readers_) {
    reader->EndStepWithRows(rows, rows_per_source);
  }
}

}  // namespace regard
