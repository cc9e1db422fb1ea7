// What a trained model attends to when it answers one question, and how much
// that matters.
#ifndef ATTENTION_INSPECTION_INSPECTION_H_
#define ATTENTION_INSPECTION_INSPECTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "attention/inspection/trace.h"
#include "evaluation/answer.h"
#include "nn/forward.h"

namespace regard {

// |sum of a head's context times the gradient of the chosen output by it|, for
// each head of an attention: how much the output would change if the head's
// context were scaled (Michel et al., "Are sixteen heads really better than
// one?", 2019, equation 4, of one example).
struct HeadImportance {
  std::string site;  // the context, with joined steps
  std::vector<double> heads;
};

// Euclidean norm of the gradient of the chosen output by what stands at each
// position.
struct InputGradients {
  std::string site;
  std::vector<std::string> labels;
  std::vector<double> norms;
};

// AttentionRollout() of the layers of one stack without a weight below 0.
struct Rollout {
  std::string stack;
  std::string site;  // the weights of its first layer
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<double> shares;  // [rows, columns]
};

struct LensLayer {
  std::string site;  // the residual
  // The likeliest answers of each row of the lens, the first ones first.
  std::vector<std::vector<Answered::Choice>> rows;
};

template <typename T>
struct Inspection {
  TraceLabels labels = {};
  int64_t chosen = kAllOutputs;  // what gradients are of
  std::vector<double> outputs = {};
  // Gradients are of the chosen output with respect to each weight, others
  // held: above 0 if more attention would have made the output larger. Where
  // TraceLabels::Writes(), row t has that of the output that position t writes;
  // 0 where it writes none.
  std::vector<AttentionMap<T>> maps = {};
  std::vector<HeadImportance> heads = {};
  std::vector<InputGradients> inputs = {};
  std::vector<Rollout> rollouts = {};
  std::vector<std::string> lens_rows = {};
  std::vector<LensLayer> lens = {};

  // The value that gradients are of.
  double Chosen() const;
  // Where outputs look: the weights [queries, keys] of the map that is the
  // alignment, of its head or the mean over heads; empty if there is none.
  const AttentionMap<T>* AlignmentMap() const;
  std::vector<double> Alignment() const;
};

// The entropy of weights in nats, of magnitudes divided by their sum; 0: one
// key has it all.
double Entropy(absl::Span<const double> weights);

struct InspectOptions {
  int64_t chosen = kAllOutputs;                        // an output
  size_t most_choices = AnswerOptions().most_choices;  // of the lens
};

// Takes a pass for the chosen output, and one for each output if these are
// successive. `forward` needs no gradients of parameters; its probe is asked as
// well.
template <typename T>
Inspection<T> Inspect(Forward<T>& forward, const Traced<T>& traced,
                      const InspectOptions& options);

// The chosen one of outputs [outputs]: a scalar.
template <typename T>
Var<T> ChosenOutput(Var<T> outputs, int64_t chosen);

}  // namespace regard

#endif  // ATTENTION_INSPECTION_INSPECTION_H_
