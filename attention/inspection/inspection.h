// Inspects a trained model on one input: its attention maps, the importance of
// its heads, gradients, rollouts and the logit lens.
#ifndef ATTENTION_INSPECTION_INSPECTION_H_
#define ATTENTION_INSPECTION_INSPECTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "attention/inspection/trace.h"
#include "evaluation/prediction.h"
#include "nn/forward.h"

namespace regard {

// The importance of each head of an attention layer: |sum(c * dy/dc)| over all
// elements of the head's context c, for the chosen output y. It measures how
// much the output changes if the head's context is scaled. Michel et al., "Are
// sixteen heads really better than one?", 2019, equation 4, for one example.
struct LayerHeadImportances {
  std::string site;  // hook point of the context; see AllStepsPattern()
  std::vector<double> heads;
};

// Euclidean norm of the gradient of the chosen output with respect to the value
// at each position.
struct InputGradientNorms {
  std::string site;
  std::vector<std::string> labels;
  std::vector<double> norms;
};

// AttentionRollout() of one stack. A stack with negative weights has no
// rollout.
struct Rollout {
  std::string stack;
  std::string site;  // the weights of the first layer
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<double> shares;  // [rows, columns]
};

struct LogitLensLayer {
  std::string site;  // the residual
  // For each row of the lens, the most probable predictions in descending
  // order.
  std::vector<std::vector<Prediction::Choice>> rows;
};

template <typename T>
struct Inspection {
  TraceDescription labels = {};
  // index of the output to which the gradients belong
  int64_t chosen = kAllOutputs;
  std::vector<double> outputs = {};
  // The attention maps, with the gradient of the chosen output with respect to
  // each weight. If the gradient is above 0, a larger weight would increase the
  // output. If TraceDescription::QueriesWriteOutputs() is true for the map, row
  // t has the gradient of the output that position t writes. If the position
  // writes no output, the gradient is 0.
  std::vector<AttentionMap<T>> maps = {};
  std::vector<LayerHeadImportances> heads = {};
  std::vector<InputGradientNorms> inputs = {};
  std::vector<Rollout> rollouts = {};
  std::vector<std::string> lens_rows = {};
  std::vector<LogitLensLayer> lens = {};

  // Returns the value of the chosen output.
  double ChosenOutputValue() const;
  // AlignmentMap() returns the map that aligns outputs with inputs, or null if
  // there is none. AlignmentWeights() returns the weights of this map [queries,
  // keys], of one head or averaged over heads. It returns an empty vector if
  // there is no map.
  const AttentionMap<T>* AlignmentMap() const;
  std::vector<double> AlignmentWeights() const;
};

// Returns the entropy, in nats, of the fractions |weight| / sum of |weights|.
// It is 0 if one key has all the weight.
double Entropy(absl::Span<const double> weights);

struct InspectOptions {
  int64_t chosen = kAllOutputs;  // index of an output
  size_t most_choices =
      PredictionOutputLimits().most_choices;  // choices per lens row
};

// Runs one pass for the chosen output. If outputs are successive, runs one more
// pass for each output. `forward` does not need gradients of parameters. The
// hook of `forward` stays active.
template <typename T>
Inspection<T> Inspect(Forward<T>& forward, const TraceablePrediction<T>& traced,
                      const InspectOptions& options);

// Returns element `chosen` of outputs [outputs], or their sum if `chosen` is
// kAllOutputs. The result has one element.
template <typename T>
Var<T> ChosenOutput(Var<T> outputs, int64_t chosen);

}  // namespace regard

#endif  // ATTENTION_INSPECTION_INSPECTION_H_
