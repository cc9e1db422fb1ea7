// Scheduled sampling: in training, some of the words that a decoder reads are
// its predictions instead of the true ones.
//
// Bengio et al., "Scheduled sampling for sequence prediction with recurrent
// neural networks", NeurIPS 2015, section 2.4.
#ifndef SEQ2SEQ_SCHEDULED_SAMPLING_H_
#define SEQ2SEQ_SCHEDULED_SAMPLING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "options/config_problems.h"
#include "seq2seq/output_head.h"

namespace regard {

class ScheduledSamplingConfig;

// Problems are at paths relative to the config. CheckRanges() of the
// decoder checks the ranges of its fields.
void ValidateScheduledSampling(const ScheduledSamplingConfig& config,
                               ConfigProblems& problems);

// The probability of reading a prediction at an update, counted from 0.
double PredictionProbability(const ScheduledSamplingConfig& config,
                             int64_t update);

// Replaces each of `ids`, the words that the rows read at `position`, by the
// likeliest word of the row's `readout`, that of the position before, with
// `probability`: drawn by the seed and the step of the tape, the row's example
// and the position. Padding stays. Nothing is recorded: there is no gradient.
template <typename T>
void ReplaceByPredictions(Forward<T>& forward, const OutputHead<T>& head,
                          Var<T> readout, double probability, int64_t position,
                          absl::Span<int32_t> ids);

}  // namespace regard

#endif  // SEQ2SEQ_SCHEDULED_SAMPLING_H_
