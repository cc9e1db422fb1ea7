// Scheduled sampling: in training, a decoder reads some of its own predictions
// instead of the true words.
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

// Adds problems under paths relative to the config. CheckRanges() of the
// decoder's config checks the ranges of the fields.
void ValidateScheduledSampling(const ScheduledSamplingConfig& config,
                               ConfigProblems& problems);

// Returns the probability that the decoder reads a prediction in optimizer step
// `update`, counted from 0.
double PredictionProbability(const ScheduledSamplingConfig& config,
                             int64_t update);

// Replaces each of `ids` by a prediction, with the given probability. `ids` are
// the words that the rows read at `position`. The prediction is the likeliest
// word according to `readout`, the row's readout at the previous position.
//
// The draw depends on the seed and the step of the tape, the example and the
// position. Padding is never replaced. Nothing is recorded, so no gradient
// flows.
template <typename T>
void ReplaceByPredictions(Forward<T>& forward, const OutputHead<T>& head,
                          Var<T> readout, double probability, int64_t position,
                          absl::Span<int32_t> ids);

}  // namespace regard

#endif  // SEQ2SEQ_SCHEDULED_SAMPLING_H_
