#include "seq2seq/scheduled_sampling.h"

#include <algorithm>
#include <cmath>

#include "autodiff/ops/gather.h"
#include "autodiff/random.h"
#include "seq2seq/seq2seq.pb.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

void ValidateScheduledSampling(const ScheduledSamplingConfig& config,
                               ConfigProblems& problems) {
  if (config.schedule() != ScheduledSamplingConfig::CONSTANT) {
    problems.RequireInRange("updates", static_cast<double>(config.updates()), 1,
                            1e9);
  } else if (config.updates() != ScheduledSamplingConfig().updates()) {
    problems.Note(
        "updates",
        "has no effect unless `schedule` is LINEAR or INVERSE_SIGMOID");
  }
}

double PredictionProbability(const ScheduledSamplingConfig& config,
                             int64_t update) {
  const auto i = static_cast<double>(update);
  const auto k = static_cast<double>(config.updates());
  switch (config.schedule()) {
    case ScheduledSamplingConfig::LINEAR:
      return config.probability() * std::min(1.0, i / k);
    case ScheduledSamplingConfig::INVERSE_SIGMOID:
      return config.probability() * (1 - k / (k + std::exp(i / k)));
    default:
      return config.probability();
  }
}

template <typename T>
void ReplaceByPredictions(Forward<T>& forward, const OutputHead<T>& head,
                          Var<T> readout, double probability, int64_t position,
                          absl::Span<int32_t> ids) {
  Tape<T>& tape = forward.tape();
  const auto rows = static_cast<int64_t>(ids.size());
  REGARD_CHECK_EQ(readout.rows(), rows);
  const RandomState& random = tape.random();
  const SpecialIds special = head.special_ids();
  const uint64_t key = Hash(random.seed, Hash("scheduled_sampling"));
  const auto threshold = static_cast<uint64_t>(probability * 0x1p32);
  const auto replaces = [&](int64_t row) {
    if (ids[row] == special.pad) return false;
    return Philox({static_cast<uint32_t>(random.step),
                   static_cast<uint32_t>(random.ExampleNumber(row)),
                   static_cast<uint32_t>(position), 0},
                  {static_cast<uint32_t>(key),
                   static_cast<uint32_t>(key >> 32)})[0] < threshold;
  };
  const bool recording = tape.recording();
  tape.set_recording(false);
  const typename Tape<T>::Mark mark = tape.Save();
  auto* const replaced = tape.arena().template New<int32_t>(rows);
  int64_t count = 0;
  for (int32_t row = 0; row < rows; ++row) {
    if (replaces(row)) replaced[count++] = row;
  }
  const Var<T> logits = head.Logits(
      forward,
      Gather(readout, {replaced, static_cast<size_t>(count)}, {count}));
  for (int64_t i = 0; i < count; ++i) {
    const T* const of_row = logits.data() + i * logits.cols();
    int32_t best = -1;
    for (int32_t id = 0; id < logits.cols(); ++id) {
      if (id == special.pad || id == special.begin) continue;
      if (best < 0 || of_row[id] > of_row[best]) best = id;
    }
    ids[replaced[i]] = best;
  }
  tape.Rewind(mark);
  tape.set_recording(recording);
}

REGARD_INSTANTIATE_FUNCTION(ReplaceByPredictions);

}  // namespace regard
