// Parts of an attention call. A part is one example and some of its queries,
// with some of the keys.
#ifndef ATTENTION_CALL_PARTS_H_
#define ATTENTION_CALL_PARTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "attention/kernels/difference_bias.h"
#include "attention/kernels/inner_form.h"
#include "attention/key_ranges.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/tape.h"
#include "nn/row_statistics.h"

namespace regard {

// Sets the tape's random state to the state of one example, for the lifetime of
// the object.
template <typename T>
class ExampleRandomScope {
 public:
  ExampleRandomScope(Tape<T>& tape, int64_t example)
      : tape_(tape), outer_(tape.random()) {
    auto* const number = tape.arena().template New<int64_t>(1);
    *number = outer_.ExampleNumber(example);
    tape.set_random({outer_.seed, outer_.step, {number, 1}});
  }
  ~ExampleRandomScope() { tape_.set_random(outer_); }

  ExampleRandomScope(const ExampleRandomScope&) = delete;
  ExampleRandomScope& operator=(const ExampleRandomScope&) = delete;

 private:
  Tape<T>& tape_;
  const RandomState outer_;
};

// Returns scores plus the bias. Scores of -inf stay -inf.
template <typename T>
Var<T> AddBias(Var<T> scores, const DifferenceBias<T>& bias) {
  if (!bias.has_value()) return scores;
  scores.tape().NotifyBeginScores();
  scores = AddDifferenceBias(scores, bias);
  scores.tape().NotifyEndScores(scores);
  return scores;
}

// Returns the position of a block of weights in the weights of the whole call.
// The first row of the block is query `first_query` of example `example`.
// `positions` are the positions of the block's queries and keys.
inline WeightBlockPosition WeightBlockPositionOf(const Positions& positions,
                                                 int64_t example = 0,
                                                 int64_t first_query = 0) {
  return {.example = example,
          .first_query = first_query,
          .offset = positions.Offset(0),
          .step = positions.query_step};
}

// Writes the row statistics of a part. Trivially copyable.
struct RowStatisticsWriter {
  // The statistics of the whole call. If `to` has no arrays, Write() and
  // WriteRunStatistics() are no-ops.
  AttentionStatistics to = {};
  WeightBlockPosition place = {};

  // Writes the statistics of weights [1, heads, rows, keys]. `part` is the mask
  // of these rows and keys.
  template <typename T>
  void Write(Var<T> weights, const Mask& part) const {
    if (!to.has_value()) return;
    WeightBlockPosition of_keys = place;
    of_keys.first_key = part.first_key;
    of_keys.part_of_keys = weights.cols() < part.all_keys;
    WriteRowStatistics(weights, of_keys, to);
  }
  // Writes the statistics of weights [1, heads, rows, columns], whose columns
  // are the keys of `runs`.
  template <typename T>
  void WriteRunStatistics(Var<T> weights,
                          absl::Span<const KeyRange> runs) const {
    if (!to.has_value()) return;
    auto* const keys =
        weights.tape().arena().template New<int32_t>(weights.cols());
    int32_t* next = keys;
    for (const KeyRange& run : runs) {
      for (int32_t key = run.begin; key < run.end; ++key) *next++ = key;
    }
    WeightBlockPosition of_runs = place;
    of_runs.keys = {keys, static_cast<size_t>(weights.cols())};
    of_runs.part_of_keys = true;
    WriteRowStatistics(weights, of_runs, to);
  }
};

}  // namespace regard

#endif  // ATTENTION_CALL_PARTS_H_
