// The output head of a decoder, which maps readouts to logits and losses.
//
// Its hook points are "readout" (the input) and "logits" (the output). If a
// hook replaces the logits or needs their gradient, the loss is computed from
// logits that are stored in full.
#ifndef SEQ2SEQ_OUTPUT_HEAD_H_
#define SEQ2SEQ_OUTPUT_HEAD_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/loss.h"
#include "autodiff/tape.h"
#include "data/text/reserved_ids.h"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"

namespace regard {

// The ids that generation treats specially; -1 for an id that does not exist.
struct SpecialIds {
  int32_t begin = ReservedIds::kBegin;  // the first id read; never generated
  int32_t end = ReservedIds::kEnd;      // ends a hypothesis
  int32_t pad = ReservedIds::kPad;      // never generated; ignored in losses
};

// The special ids of a head without special tokens, such as a classifier.
inline constexpr SpecialIds kNoSpecialIds = {-1, -1, -1};

template <typename T>
class OutputHead {
 public:
  virtual ~OutputHead() = default;

  virtual int64_t vocabulary() const = 0;
  virtual SpecialIds special_ids() const { return {}; }

  // Maps a readout [.., width] to unnormalized log-probabilities [..,
  // vocabulary].
  Var<T> Logits(Forward<T>& forward, Var<T> readout) const;

  // Returns the cross-entropy of `targets`, one per readout, in nats: the sum
  // over the targets that are not special_ids().pad.
  Var<T> Loss(Forward<T>& forward, Var<T> readout,
              absl::Span<const int32_t> targets, double label_smoothing) const;

 protected:
  // Implements Logits() and Loss() without hook points. `options` contain the
  // label smoothing and the padding id.
  virtual Var<T> LogitsOf(Forward<T>& forward, Var<T> readout) const = 0;
  virtual Var<T> LossOf(Forward<T>& forward, Var<T> readout,
                        absl::Span<const int32_t> targets,
                        const CrossEntropyOptions& options) const {
    return CrossEntropy(LogitsOf(forward, readout), targets, options);
  }
};

// A linear output head: the logits are W x + b.
template <typename T>
class LinearHead : public OutputHead<T> {
 public:
  // Creates parameters "weight" [vocabulary, inputs] and "bias" [vocabulary].
  LinearHead(const ParameterScope<T>& scope, int64_t inputs, int64_t vocabulary,
             const LinearOptions& options, const SpecialIds& special_ids = {});
  // Shares the weight [vocabulary, inputs] of an embedding (Press and Wolf,
  // "Using the output embedding to improve language models", 2017). "weight" is
  // an alias of this weight. The bias, if there is one, starts at 0.
  LinearHead(const ParameterScope<T>& scope, Parameter<T> embedding, bool bias,
             const SpecialIds& special_ids = {});

  int64_t vocabulary() const override { return vocabulary_; }
  SpecialIds special_ids() const override { return special_ids_; }

  // Public for heads that end in a LinearHead.
  Var<T> LogitsOf(Forward<T>& forward, Var<T> readout) const override;
  // Computes the loss in blocks of rows, so that the logits are never stored in
  // full.
  Var<T> LossOf(Forward<T>& forward, Var<T> readout,
                absl::Span<const int32_t> targets,
                const CrossEntropyOptions& options) const override;

 private:
  Var<T> Bias(Forward<T>& forward) const;

  int64_t vocabulary_;
  Parameter<T> weight_;
  Parameter<T> bias_;  // may be absent
  SpecialIds special_ids_;
};

struct TokenScoreSums {
  double loss = 0;      // summed cross-entropy, in nats
  int64_t correct = 0;  // targets with the greatest logit
  int64_t count = 0;    // targets that are not padding

  TokenScoreSums& operator+=(const TokenScoreSums& other) {
    loss += other.loss;
    correct += other.correct;
    count += other.count;
    return *this;
  }
};

// Returns the loss without label smoothing and the number of correct
// predictions. Works in blocks of rows, so that memory does not grow with the
// number of rows. If there are several blocks, block i has the scope
// "block[i]".
//
// The tape of `readout` must not record. If `likeliest` is not null, the id of
// the greatest logit is appended to it for each target.
template <typename T>
TokenScoreSums ScoreTokens(const OutputHead<T>& head, Forward<T>& forward,
                           Var<T> readout, absl::Span<const int32_t> targets,
                           std::vector<int32_t>* likeliest = nullptr);

}  // namespace regard

#endif  // SEQ2SEQ_OUTPUT_HEAD_H_
