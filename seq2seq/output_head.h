// The output head of a decoder: from readouts to token ids.
//
// Sites of a probe: "readout", what a head reads, and "logits", what it gives.
// Gradients and replacements of the logits take the path on which a loss is of
// logits that exist in full.
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

// The ids that generation treats apart; -1 where there is none.
struct SpecialIds {
  int32_t begin = ReservedIds::kBegin;  // the first id read; never generated
  int32_t end = ReservedIds::kEnd;      // ends a hypothesis
  int32_t pad = ReservedIds::kPad;  // never generated, nor counted in a loss
};

// Of a head whose ids are chosen one apart from another.
inline constexpr SpecialIds kNoSpecialIds = {-1, -1, -1};

template <typename T>
class OutputHead {
 public:
  virtual ~OutputHead() = default;

  virtual int64_t vocabulary() const = 0;
  virtual SpecialIds special_ids() const { return {}; }

  // readout [.., width] -> unnormalised log-probabilities [.., vocabulary].
  Var<T> Logits(Forward<T>& forward, Var<T> readout) const;

  // The cross-entropy of `targets`, one for each readout, in nats; summed over
  // those that are not special_ids().pad.
  Var<T> Loss(Forward<T>& forward, Var<T> readout,
              absl::Span<const int32_t> targets, double label_smoothing) const;

 protected:
  // What Logits() and Loss() give, without sites. Of a loss, `options` have the
  // label smoothing and the padding.
  virtual Var<T> LogitsOf(Forward<T>& forward, Var<T> readout) const = 0;
  virtual Var<T> LossOf(Forward<T>& forward, Var<T> readout,
                        absl::Span<const int32_t> targets,
                        const CrossEntropyOptions& options) const {
    return CrossEntropy(LogitsOf(forward, readout), targets, options);
  }
};

// Logits W x + b.
template <typename T>
class LinearHead : public OutputHead<T> {
 public:
  // Parameters "weight" [vocabulary, inputs] and "bias" [vocabulary].
  LinearHead(const ParameterScope<T>& scope, int64_t inputs, int64_t vocabulary,
             const LinearOptions& options, const SpecialIds& special_ids = {});
  // Shares the weight [vocabulary, inputs] of an embedding (Press and Wolf,
  // "Using the output embedding to improve language models", 2017): "weight" is
  // its second name. A bias starts at 0.
  LinearHead(const ParameterScope<T>& scope, Parameter<T> embedding, bool bias,
             const SpecialIds& special_ids = {});

  int64_t vocabulary() const override { return vocabulary_; }
  SpecialIds special_ids() const override { return special_ids_; }

  // Public for heads that end with this one.
  Var<T> LogitsOf(Forward<T>& forward, Var<T> readout) const override;
  // By blocks of rows: the logits never exist in full.
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

struct TokenScores {
  double loss = 0;      // cross-entropy, summed, in nats
  int64_t correct = 0;  // targets whose logit is the greatest
  int64_t count = 0;    // targets that are not padding

  TokenScores& operator+=(const TokenScores& other) {
    loss += other.loss;
    correct += other.correct;
    count += other.count;
    return *this;
  }
};

// Without label smoothing, by blocks of rows: memory is bounded whatever the
// number of rows, and block i of several has the scope "block[i]". `readout` is
// on a tape that records nothing. Appends to `likeliest`, if there is one, the
// id of each target's greatest logit.
template <typename T>
TokenScores ScoreTokens(const OutputHead<T>& head, Forward<T>& forward,
                        Var<T> readout, absl::Span<const int32_t> targets,
                        std::vector<int32_t>* likeliest = nullptr);

}  // namespace regard

#endif  // SEQ2SEQ_OUTPUT_HEAD_H_
